//===- AssignLoops.h - Along which axes the loops of an op are split -*- C++ -*-===//
//
// Of every op, axis by axis, the loop that is cheapest: what it takes to bring its operands there,
// what the op takes, and where nothing else is split so, neither operands nor what the results are
// used with, what it takes to have these whole again. A loop that an operand is split along costs
// nothing to stay with; where it cannot, because it is summed over or needed whole, parts may be
// exchanged for those of another loop (columns of logits for rows of a softmax) or gathered by
// every rank. Products and attention are always split if they can be; all else only where an
// operand is.
//
// An op that adds in an order of its own has the same bits in every part: loops that reduce are
// never split, unless the sum is exact (LoopNest::exact), and rows of a product only where a part
// has enough of them (KernelLayouts.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Sharding/Resharding.h"

namespace sinter {

/// Whether an op multiplies by matrices, one or one a group of rows.
bool isProduct(mlir::Operation *op);

/// The loop that a dimension of one of an op's tensors is, operands before results.
unsigned getLoop(const LoopNest &nest, unsigned tensor, int64_t dim);

/// The dimension of one of an op's tensors that is a loop, or none.
std::optional<int64_t> findDim(const LoopNest &nest, unsigned tensor, unsigned loop);

/// The extents of the dimensions that a loop of an op goes over.
llvm::SmallVector<int64_t> getExtents(mlir::Operation *op, const LoopNest &nest, unsigned loop);

/// The turns of each loop of an op: of one over unlike extents, those of the first.
llvm::SmallVector<int64_t> getTurns(mlir::Operation *op, const LoopNest &nest);

/// Whether every one of so many ranks can have its turns of a loop: of dimensions of unlike
/// extents, and along several axes, these are equal parts.
bool dividesLoop(mlir::Operation *op, const LoopNest &nest, unsigned loop, int64_t ranks,
                 size_t axes = 1);

/// How an op is split.
struct LoopAssignment {
  llvm::SmallVector<mlir::ArrayAttr> axes; ///< of each loop
  /// Axes along which an operand was split and the op has no loop that may be.
  llvm::SmallVector<mlir::StringAttr> unsplittable;
};

/// Decides how ops are split over a grid.
class LoopAssigner {
public:
  /// @param manual axes along which ranks compute on data of their own; null: none.
  LoopAssigner(GridAttr grid, TargetAttr target, mlir::ArrayAttr manual, Resharder &resharder);

  /// Whether ops may be split at all; else every rank computes all of each.
  bool hasAxes() const { return !axes.empty(); }

  /// A remark says of which loop what belongs together, as columns and the scale that they share,
  /// would be cut, where that leaves none that may be split.
  /// @param operands what there is of the op's operands.
  /// @param isFree whether operand `i` is there, or made at no cost, under a sharding.
  /// @param isWanted whether a use of a result wants a dimension split along an axis.
  LoopAssignment assign(mlir::Operation *op, const LoopNest &nest,
                        llvm::ArrayRef<ShardedValue> operands,
                        llvm::function_ref<bool(unsigned i, ShardingAttr)> isFree,
                        llvm::function_ref<bool(mlir::Value, int64_t, mlir::StringAttr)> isWanted);

private:
  GridAttr grid;
  TargetAttr target;
  Resharder &resharder;
  llvm::SmallVector<size_t> axes; ///< of the grid, that loops may be split along
};

} // namespace sinter
