//===- GemmEpilogue.h - Plain parts of a product ----------------*- C++ -*-===//
//
// What Gemm does itself: the steps of an epilogue that the library cannot do, and the product where
// there is no library kernel. Loops are written for the compiler to vectorize, once per
// instruction set (target_clones).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/DType.h"
#include "runtime/Device/Cpu/Gemm.h"
#include <span>

namespace sinter::runtime {

/// Applies `steps` to the f32 block [rows, columns] at `block` (dense), whose first element is
/// (row, column) of the product, and writes it to `out` (the product's first element).
void applyEpilogue(float *block, uint64_t row, uint64_t rows, uint64_t column, uint64_t columns,
                   std::span<const GemmPostOp> steps, void *out, uint64_t outStride,
                   DType outDtype);

/// block[rows, columns] = lhs . panels, dense. `lhs` is the block's first row; `panels` the panel
/// that holds the block's first column (a multiple of 64).
void multiplyPlain(float *block, const void *lhs, uint64_t lhsStride, const void *panels,
                   uint64_t rows, uint64_t columns, uint64_t k, DType dtype);

} // namespace sinter::runtime
