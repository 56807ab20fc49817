//===- AttentionGradPlan.h - What a kernel of gradients computes *- C++ -*-===//
#pragma once

#include "compiler/Codegen/Loops/AttentionOperands.h"

namespace sinter {

/// The gradient of one attention of a kernel function and how its work is cut.
///
/// As for attention, row r of head g is position `r / group` of query head
/// `g * group + r % group`. A work item is one slot and one key-value head: all of its sums are
/// made by one thread in one order. Inside, blocks of `keyBlock` keys meet blocks of `rowBlock`
/// rows; the five products of such a pair are made of register tiles, or of tiles of a matrix unit
/// where all that is multiplied is bf16 and nothing is dropped.
struct AttentionGradPlan : AttentionOperands, AttentionGradResults {
  AttentionGradOp op;
  StridedInput key, value, gradient; ///< strides [b, t, h, d], as the query's
  unsigned logsumexpArgument = 0, deltaArgument = 0;

  bool usesTiles = false; ///< of a matrix unit (MatrixTiles)
  int64_t keyBlock = 0, rowBlock = 0;
  /// Tiles of scores: rows, and vectors of keys. @pre both divide the block.
  int64_t scoreRows = 0, keyVectors = 0;
  /// Tiles of gradients: vectors of a head, and rows of the queries' and of the keys'.
  int64_t headVectors = 0, queryRows = 0, keyRows = 0;

  int64_t getGrid() const { return batch * keyHeads; }

  /// Reads a kernel function and cuts its work for the target. What the generator cannot do is
  /// reported as an error.
  static mlir::FailureOr<AttentionGradPlan> make(mlir::func::FuncOp kernel, TargetAttr target);
};

} // namespace sinter
