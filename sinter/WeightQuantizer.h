//===- WeightQuantizer.h - Numbers of few bits for a matrix -----*- C++ -*-===//
//
// A weight w becomes a code q and shares a scale s with its group, the weights of one output and of
// `group` consecutive inputs, or with all of that output, or with the same of `outputs` neighbours,
// a block, of which the last ones may be smaller:
//
//   integers   q = clamp(round(w / s), -2^(b-1), 2^(b-1) - 1),   w' = q s
//   fp8        q = e4m3(w / s),                                  w' = q s
//
// The scale is p max|w| / largest, where largest is 2^(b-1) - 1 or 448, rounded to the type that it
// is stored in. What is chosen is p, the part of the range that is kept: more is clipped and the
// rest is finer.
//
//   max          p = 1
//   percentile   p max|w| is the 99.9th percentile of |w|
//   mse          of p = 1, 63/64, ..., 1/2 the one of the least sum of (w - w')^2
//
// The step of fp8 grows with the number, so that nothing is won by clipping: mse is max there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Base/ThreadPool.h"
#include <span>
#include <vector>

namespace sinter {

enum class ClipMethod { Max, Percentile, Mse };

/// How weights are stored.
struct WeightEncoding {
  bool isFloat = false; ///< e4m3
  int bits = 8;
  int64_t group = 0;   ///< inputs that share a scale; 0: all
  int64_t outputs = 1; ///< outputs that do
  DType scaleType = DType::F32;
  ClipMethod clip = ClipMethod::Mse;

  int64_t groups(int64_t columns) const { return group ? (columns + group - 1) / group : 1; }
  int64_t groupSize(int64_t columns) const { return group ? group : columns; }
  int64_t scaleRows(int64_t rows) const { return (rows + outputs - 1) / outputs; }
};

/// A matrix [rows, columns] of codes (of e4m3 their bits) and scales [scaleRows, groups].
struct EncodedMatrix {
  int64_t rows = 0, columns = 0;
  std::vector<int8_t> codes;
  std::vector<float> scales;
};

/// The scale of a group of weights.
float chooseScale(std::span<const float> weights, const WeightEncoding &encoding);

/// The code of a weight, and what it stands for without the scale.
int8_t encodeWeight(float weight, float scale, const WeightEncoding &encoding);
float decodeWeight(int8_t code, const WeightEncoding &encoding);

/// Encodes each weight by itself. @pre all weights are finite
EncodedMatrix encodeMatrix(runtime::ThreadPool &pool, std::span<const float> weights, int64_t rows,
                           int64_t columns, const WeightEncoding &encoding);

/// What the matrix stands for, [rows, columns].
std::vector<float> decodeMatrix(const EncodedMatrix &matrix, const WeightEncoding &encoding);

/// Codes packed as compressed-tensors has them: 32 / bits a word, the first lowest, each plus
/// 2^(bits - 1); rows begin with a word. @pre bits divides 32
std::vector<uint32_t> packCodes(const EncodedMatrix &matrix, int bits);

} // namespace sinter
