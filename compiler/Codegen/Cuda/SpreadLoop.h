//===- SpreadLoop.h - A loop's part of one thread ---------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sinter {

/// The threads of a work item.
struct ItemThreads {
  /// How many there are, and the items of a block.
  int64_t threads = 1, perBlock = 1;
  /// This thread's place among them, and the item's among those of the block; null where there is
  /// only one.
  mlir::Value thread, team;
};

/// The value of an expression over `dims`, without an op for a lone dimension.
mlir::Value emitAffine(mlir::OpBuilder &builder, mlir::Location loc, mlir::AffineExpr expr,
                       mlir::ValueRange dims);

/// Replaces a loop that is to be spread over an item's threads (`sinter.lanes`) by this thread's
/// part of it: steps of vectors, and reductions of what it sums.
void spreadLoop(mlir::scf::ForOp loop, const ItemThreads &item);

} // namespace sinter
