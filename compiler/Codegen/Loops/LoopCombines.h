//===- LoopCombines.h - What a loop adds up or compares ---------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace sinter {

/// The ops that combine what a loop carries with what a step computes, one a carried value: sums
/// and maxima, which steps may be combined into in any order. Nothing where the loop carries
/// another value, or a step looks at one.
std::optional<llvm::SmallVector<mlir::Operation *>> findCombines(mlir::scf::ForOp loop);

} // namespace sinter
