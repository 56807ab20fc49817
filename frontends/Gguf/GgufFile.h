//===- GgufFile.h - The header of a GGUF file -------------------*- C++ -*-===//
//
// A GGUF file (versions 2 and 3, little-endian) is
//
//   "GGUF", u32 version, u64 tensors, u64 entries
//   entries            string key, u32 type, value: numbers, strings, arrays of them
//   tensors            string name, u32 dimensions, u64 extents (the fastest first), u32 element
//                      type, u64 offset from the data's start
//   data               from the next multiple of `general.alignment` (32 unless said) on
//
// where a string is a u64 length and its bytes. The file may come from anywhere: counts, lengths
// and offsets are checked against the bytes that there are before anything is read or allocated.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Gguf/GgufBlocks.h"
#include "runtime/Base/Error.h"
#include "runtime/Base/MappedFile.h"
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace sinter {

/// A tensor as the file stores it.
struct GgufTensor {
  std::string name;
  std::vector<int64_t> shape; ///< row-major: the extent that changes fastest is the last
  const GgufType *type = nullptr;
  std::span<const std::byte> data;
  uint64_t offset = 0; ///< of the data from the start of its file
  size_t part = 0;     ///< which file that is, of a model in several parts

  int64_t getRows() const; ///< of the last extent; 1 for a tensor of one dimension
  int64_t getColumns() const { return shape.empty() ? 1 : shape.back(); }
};

struct GgufFile {
  /// Entries by key: numbers, booleans, strings, arrays.
  nlohmann::json metadata = nlohmann::json::object();
  std::vector<GgufTensor> tensors;
  /// Of what was opened by its path: its files, one or the parts of a model in order.
  std::vector<MappedFile> mappings;
  std::vector<std::filesystem::path> paths;

  /// Whether a path names a GGUF file: by its ending, `.gguf`.
  static bool isPath(const std::filesystem::path &path) { return path.extension() == ".gguf"; }

  /// Whether a file with these first bytes says that it is a GGUF file.
  static bool isGguf(std::span<const std::byte> bytes);

  /// Maps a file, for as long as the result lives, and reads its header; of a model in several
  /// parts, of which `path` names the first ("m-00001-of-00003.gguf"), all, with the tensors of
  /// all. Fails where one is missing or another model's, and where `path` is not the first.
  static Expected<GgufFile> open(const std::filesystem::path &path);

  /// Reads the header; `bytes` is the whole file and must outlive the result. Fails, with `source`
  /// and what is wrong named, where anything does not fit the file, a name is used twice, text is
  /// not UTF-8, or a tensor's type is one that cannot be read.
  static Expected<GgufFile> read(std::span<const std::byte> bytes, std::string_view source);
};

} // namespace sinter
