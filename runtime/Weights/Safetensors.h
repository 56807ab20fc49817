//===- Safetensors.h - The header of one safetensors file -------*- C++ -*-===//
//
// A safetensors file is
//
//   u64 little-endian  length of the header
//   header             JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
//                      ..., "__metadata__": {"key": "value"}}, padded with spaces
//   data               the tensors' bytes; data_offsets count from here and cover it exactly
//
// The file may come from anywhere, so nothing in it is believed before it has been checked: the
// header must fit the file, every range must lie in the data, ranges may neither overlap nor leave
// holes (the format's rule), and a tensor's shape times its element size must be its range. All
// products and sums are checked for overflow.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/Error.h"
#include "runtime/Weights/IntegerFormat.h"
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// Makes the elements of a tensor that its file stores in another form, a range of items at a time:
/// any threads may decode different items.
struct TensorDecoder {
  uint64_t items = 0;
  /// Writes what the items hold to its place in `out`, the whole tensor's memory.
  std::function<void(uint64_t begin, uint64_t end, std::byte *out)> decode;

  explicit operator bool() const { return static_cast<bool>(decode); }
};

/// A matrix whose elements are integers times scales (and plus minima); its parts row by row as
/// they are used, `[out, in]`.
struct IntegerMatrix {
  IntegerFormat format;
  int64_t rows = 0, columns = 0;
  TensorDecoder integers, scales;
  TensorDecoder minima = {}; ///< where the format has them
};

/// One tensor of a weight file. The data are row-major, little-endian and aligned to nothing.
struct Tensor {
  std::string name;
  std::optional<DType> dtype;      ///< empty for types that Sinter has no use for (I8, BOOL, ...)
  std::string dtypeName;           ///< as the file writes it
  std::vector<int64_t> shape;      ///< each >= 0
  std::span<const std::byte> data; ///< in the mapping; lives as long as its WeightFiles
  /// Where `data` are not elements of `dtype`, row-major: makes these from them.
  TensorDecoder decoder = {};
  /// What the tensor, or its transpose, can be read as, too.
  std::optional<IntegerMatrix> integers = {};
  size_t file = 0;     ///< index into WeightFiles::files()
  uint64_t offset = 0; ///< of the data from the start of the file, in bytes

  /// True for the types that parameters may be stored in: F32, F16, BF16.
  bool isFloat() const {
    return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
  }
};

/// Reads the header of a safetensors file whose bytes are `bytes`; `source` names it in errors and
/// `file` is copied into each tensor. The result is in the order of the data.
Expected<std::vector<Tensor>> readSafetensors(std::span<const std::byte> bytes,
                                              std::string_view source, size_t file = 0);

/// The texts that the header of such a file has beside the tensors, by key.
Expected<std::map<std::string, std::string>>
readSafetensorsMetadata(std::span<const std::byte> bytes, std::string_view source);

/// A tensor to be written; `data` holds product(shape) elements, row-major.
struct TensorToWrite {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
  /// The file's name of a type that DType lacks, of as many bytes: "I8", "F8_E4M3".
  std::string_view dtypeName = {};
};

/// Writes a safetensors file aside, syncs it to the disk and renames it, so PATH never holds half
/// a file. Tensors are sorted by element size, then name, and the data begin at a
/// multiple of 64 bytes: equal tensors give equal files. Fails where the path cannot be written or
/// a name is used twice.
Expected<void> writeSafetensors(const std::filesystem::path &path,
                                std::span<const TensorToWrite> tensors,
                                const std::map<std::string, std::string> &metadata = {});

} // namespace sinter
