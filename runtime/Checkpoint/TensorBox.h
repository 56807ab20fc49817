//===- TensorBox.h - Parts of tensors ---------------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::runtime {

/// The elements from offset[i] to offset[i] + shape[i] of every dimension i of a tensor.
struct TensorBox {
  std::vector<int64_t> offset, shape;

  uint64_t getElements() const;
  /// "[0:4, 8:16]".
  std::string describe() const;
  bool operator==(const TensorBox &) const = default;
};

/// "F32 [2, 3]".
std::string describeTensor(std::string_view dtype, const std::vector<int64_t> &shape);

/// All of a tensor.
TensorBox makeWholeBox(std::vector<int64_t> shape);

/// What is in both; none where no element is.
std::optional<TensorBox> intersect(const TensorBox &a, const TensorBox &b);

/// Copies the elements of `box` from `in` to `out`, the row-major elements of `inBox` and `outBox`,
/// of `elementBytes` each. @pre the box is in both
void copyBox(const TensorBox &box, const TensorBox &inBox, std::span<const std::byte> in,
             const TensorBox &outBox, std::span<std::byte> out, size_t elementBytes);

/// Fails where an element of `whole` is in none of the boxes, or in two. `what` names the tensor.
Expected<void> checkCover(const TensorBox &whole, std::span<const TensorBox> boxes,
                          const std::string &what);

} // namespace sinter::runtime
