//===- PackedRhs.h - The layout of packed weights ---------------*- C++ -*-===//
//
// A [k, n] matrix in panels: n is cut into panels of `width` columns, k is padded to a multiple of
// `depth`, both with zeros; a panel is [k / interleave][width][interleave], contiguous: of f32
// depth 16 and interleave 1, of bf16 depth 32 and interleave 2, so that one load has pairs along k.
// Scales, of which each block of k has a row, are not padded along k; those of 16 bits have no
// pairs.
//
// Integers are pairs or fours along k, which one instruction multiplies and adds. Weight-only ones,
// the other side of which are numbers, have depth 32. Those of four bits are fours of which two
// columns share the bytes: [k / 4][width / 2][4] bytes, with column j in the lower halves and j +
// width / 2 in the upper.
//
// Panels of fours that are multiplied by bytes end with a row of `width` integers of 32 bits, -128
// times the sum of each column: an instruction that multiplies unsigned by signed bytes gets the
// other side with 128 added, and this takes it off again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include <cstdint>
#include <span>

namespace sinter::runtime {

struct PackedRhs {
  uint64_t k = 0, n = 0;
  DType dtype = DType::F32;            ///< F32, BF16, I8 or I4; of scales also F16
  uint64_t width = 64;                 ///< 16, 32 or 64
  bool isScales = false;               ///< numbers: not padded along k
  uint64_t together = 1;               ///< integers along k that are neighbours: I8 2 or 4, I4 4
  bool isWeightOnly = false;           ///< integers: the other side are numbers; I4: always
  std::span<const int8_t> values = {}; ///< I4: 16 bytes that codes stand for; empty: themselves

  constexpr bool isInteger() const { return dtype == DType::I8 || dtype == DType::I4; }
  /// Whether each element is 16 bits by itself.
  constexpr bool isHalfScales() const { return isScales && dtype != DType::F32; }
  constexpr uint64_t getInterleave() const {
    return dtype == DType::BF16 && !isScales ? 2 : together;
  }
  constexpr uint64_t getDepth() const {
    if (isScales || (isInteger() && !isWeightOnly))
      return together;
    return isInteger() || dtype == DType::BF16 ? 32 : 16;
  }
  constexpr bool endsWithSums() const { return together == 4 && !isWeightOnly; }
  constexpr uint64_t getPaddedK() const { return (k + getDepth() - 1) / getDepth() * getDepth(); }
  constexpr uint64_t count() const { return (n + width - 1) / width; }
  /// Bytes of one panel.
  constexpr uint64_t getPanelBytes() const {
    return bytesOf(dtype, getPaddedK() * width) + (endsWithSums() ? width * sizeof(int32_t) : 0);
  }
  /// Bytes of the whole matrix.
  constexpr uint64_t getBytes() const { return count() * getPanelBytes(); }
};

} // namespace sinter::runtime
