//===- ExecutedWork.h - What generated loops execute ------------*- C++ -*-===//
//
// The cost model says what ops have to do; here is counted what the loops that were generated for
// them do. A loop's steps follow from the ranges of its bounds, with the work items 0 to all of
// them; where the bounds of loops inside change with its counter (causal attention, the last tile
// of a product), the mean of its first, middle and last step stands for all of them. What data
// decide is counted at its most: the longest range, the larger branch; a loop that nothing but data
// ends, as of a sampler that goes over candidates, is counted once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::test {

struct ExecutedWork {
  double flops = 0; ///< operations on floating-point numbers; a multiply-add counts as two
  double bytes = 0; ///< loaded and stored, from whichever memory

  ExecutedWork &operator+=(const ExecutedWork &other) {
    flops += other.flops;
    bytes += other.bytes;
    return *this;
  }
  ExecutedWork operator*(double times) const { return {flops * times, bytes * times}; }
};

/// What a loop kernel (compiler/Codegen/Loops/Kernels.h) executes for work items [0, items). What
/// it calls is not counted.
ExecutedWork countWork(mlir::func::FuncOp loopKernel, int64_t items);

} // namespace sinter::test
