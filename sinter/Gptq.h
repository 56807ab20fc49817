//===- Gptq.h - Codes that make up for each other's errors ------*- C++ -*-===//
//
// GPTQ (Frantar, Ashkboos, Hoefler, Alistarh: arXiv 2210.17323) minimizes the error of a layer's
// outputs, |X W^T - X W'^T|^2 for the inputs X of a text, instead of that of its weights. Columns
// are rounded one after the other; what a column's rounding does to the outputs is made up for as
// well as possible by the columns after it. With H = X^T X + d I, where d is a hundredth of the
// mean of the diagonal of X^T X, and the upper triangular U of which H^-1 = U^T U:
//
//   e = (w[j] - w'[j]) / U[j, j];   w[k] -= e U[j, k] for k > j
//
//===----------------------------------------------------------------------===//
#pragma once

#include "sinter/WeightQuantizer.h"

namespace sinter {

/// Encodes a matrix [rows, columns] for inputs of which `gram`, [columns, columns], is X^T X. A
/// group's scale is chosen when its first column is reached. @pre as encodeMatrix; gram is finite
EncodedMatrix encodeByGptq(runtime::ThreadPool &pool, std::vector<float> weights, int64_t rows,
                           int64_t columns, std::span<const double> gram,
                           const WeightEncoding &encoding);

} // namespace sinter
