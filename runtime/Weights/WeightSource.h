//===- WeightSource.h - Where checkpoint tensors come from ------*- C++ -*-===//
//
// The runtime asks for tensors by name and does not care who reads the files.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Weights/Safetensors.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// A tensor as it is stored: row-major, little-endian, aligned to nothing.
struct StoredTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
  TensorDecoder decoder = {}; ///< where `data` are not the elements: makes these from them
};

/// The tensors of a checkpoint.
class WeightSource {
public:
  virtual ~WeightSource() = default;

  /// The tensor of this name, if there is one of a type that the runtime knows. Its data live as
  /// long as the source.
  virtual std::optional<StoredTensor> find(std::string_view name) const = 0;

  /// Tells that the tensor's data are not needed any more, so that mapped pages can be dropped.
  virtual void release(std::string_view name) const {}
};

} // namespace sinter::runtime
