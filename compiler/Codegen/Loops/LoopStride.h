//===- LoopStride.h - How a value follows a loop's counter ------*- C++ -*-===//
#pragma once

#include "mlir/IR/Builders.h"
#include <optional>

namespace sinter {

/// By how much `value` grows when `counter` grows by one; nothing where that is not constant.
/// @pre `counter` is an argument of a block, or computed in one from it; values from outside of
/// that block do not depend on it, nor do counters of loops inside.
std::optional<int64_t> getStride(mlir::Value value, mlir::Value counter);

/// How far from `value` its values at the next counts are, from 0 for this one to that of the last
/// of `lanes`; nothing where that is not the same at all counts that are `first` and a multiple of
/// `lanes`. Of (i floordiv 2) * 128 + i mod 2 with an even first, 0, 1, 128, 129, ...; of
/// i floordiv 64 with lanes that divide 64 and the first, zeros.
std::optional<llvm::SmallVector<int64_t>> getLaneOffsets(mlir::Value value, mlir::Value counter,
                                                         int64_t first, int64_t lanes);

/// Whether an index is computed from `counter` and values from outside of its block alone, without
/// a look at memory.
bool isComputedFromCounter(mlir::Value index, mlir::Value counter);

/// What such an index is where the counter is `count`.
mlir::Value computeAtCount(mlir::OpBuilder &builder, mlir::Value index, mlir::Value counter,
                           mlir::Value count);

} // namespace sinter
