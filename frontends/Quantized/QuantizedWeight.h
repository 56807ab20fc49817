//===- QuantizedWeight.h - The weight of a layer, dequantized ---*- C++ -*-===//
#pragma once

#include "frontends/Quantized/StoredMatrix.h"
#include "runtime/Weights/Safetensors.h"
#include <memory>
#include <optional>
#include <vector>

namespace sinter {

/// A weight [rows, columns], which is [out, in], in parts:
///
///   w[r, c] = (codes[r, c] - zeros[r / rowGroup, g]) * scales[r / rowGroup, g]
///
/// where g is c / columnGroup, or groupOf[c]. Codes and zeros are small numbers, so the difference
/// is exact, and the product is rounded once, to f32.
struct QuantizedWeight {
  StoredMatrix codes, scales;
  std::optional<StoredMatrix> zeros;
  int64_t rowGroup = 1, columnGroup = 1;
  std::shared_ptr<const std::vector<uint32_t>> groupOf; ///< of each column; null: in order
  bool isTransposed = false;                            ///< wanted as [columns, rows]
  int64_t matrices = 1; ///< that the rows are those of, each wanted transposed by itself
  /// Whether what is multiplied is meant to be rounded to 8 bits, row by row.
  bool roundsRows = false;

  /// Makes the f32 elements. The data that the parts are in must outlive it.
  TensorDecoder getDecoder() const;

  /// The same as integers (of e4m3 as its numbers), scales and, where there are zero points,
  /// minima, `[rows, columns]` even if it is wanted transposed; nothing where groups are not in
  /// order, or of unlike sizes that have fewer than 8 columns in common. Each row has scales of its
  /// own, whatever rows share them in the file. Codes that count from 0 on lose half of their
  /// range, which minima gain. A group with a NaN has it as its scale: it makes the same product
  /// NaN, and kernels need not know its code.
  std::optional<IntegerMatrix> getIntegers() const;

private:
  void decodeRows(int64_t first, int64_t count, float *out) const;
  TensorDecoder decodeIntegers(int shift) const;
  TensorDecoder decodeNumbers() const;
  DType getScaleType() const;
  TensorDecoder decodeGroups(int64_t group, bool ofMinima, int shift) const;
};

} // namespace sinter
