//===- PackedRhs.h - The layout of packed weights ---------------*- C++ -*-===//
//
// A [k, n] matrix in panels: n is cut into panels of `width` columns, k is padded to a multiple of
// `depth`, both with zeros; a panel is [k / interleave][width][interleave], contiguous: of f32
// depth 16 and interleave 1, of bf16 depth 32 and interleave 2, so that one load has pairs along k.
// Integers and their scales, of which each block of k has a row, are not padded along k. Integers
// of four bits are [k][width / 2] bytes, with column j in the lower half and j + width / 2 in the
// upper.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include <cstdint>

namespace sinter::runtime {

struct PackedRhs {
  uint64_t k = 0, n = 0;
  DType dtype = DType::F32; ///< F32, BF16, I8 or I4
  uint64_t width = 64;      ///< 16, 32 or 64
  bool isScales = false;    ///< F32: not padded along k

  constexpr bool isInteger() const { return dtype == DType::I8 || dtype == DType::I4; }
  constexpr uint64_t interleave() const { return dtype == DType::BF16 ? 2 : 1; }
  constexpr uint64_t depth() const {
    return isInteger() || isScales ? 1 : dtype == DType::BF16 ? 32 : 16;
  }
  constexpr uint64_t paddedK() const { return (k + depth() - 1) / depth() * depth(); }
  constexpr uint64_t count() const { return (n + width - 1) / width; }
  /// Bytes of one panel.
  constexpr uint64_t panelBytes() const { return bytesOf(dtype, paddedK() * width); }
  /// Bytes of the whole matrix.
  constexpr uint64_t bytes() const { return count() * panelBytes(); }
};

} // namespace sinter::runtime
