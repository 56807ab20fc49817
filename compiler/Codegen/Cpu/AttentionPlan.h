//===- AttentionPlan.h - What an attention kernel computes ------*- C++ -*-===//
#pragma once

#include "compiler/Codegen/Cpu/VectorBuilder.h"
#include "compiler/Codegen/Loops/AttentionOperands.h"

namespace sinter {

/// One attention op of a kernel function and how its work is cut.
///
/// The query rows of a key-value head are those of all its query heads: row r of head g is
/// position `r / group` of query head `g * group + r % group`, so that keys and values are read
/// once for the whole group. A work item is a block of `blockRows` such rows of one slot and one
/// key-value head; inside, tiles of `tileRows` rows meet blocks of `keyBlock` keys.
///
/// A matrix unit is used for kManyRows rows and more: of fewer there is another order of sums
/// anyway (RegisterTile.h), and a row has the same bits in every tile of either kind.
struct AttentionPlan : AttentionOperands, AttentionResults {
  /// How the keys of a block are read: as vectors of positions straight from key panels, or copied
  /// into such panels first (dense).
  enum class Keys { Panels, Copied };

  AttentionOp op;
  /// Storage of keys and values; strides [b, s, g, d] where dense or head-major.
  unsigned keyArgument = 0, valueArgument = 0;
  StridedInput denseKey, value;
  /// What keys and values of 8 bits are multiplied with, one a position and head.
  std::optional<StridedInput> keyScales, valueScales;
  Keys keys = Keys::Copied;
  int64_t panelWidth = 0;
  int64_t elementBytes = 0; // of keys and values
  bool pairs = false;       // products of pairs of bf16
  bool usesTiles = false;   // these on a matrix unit (MatrixTiles)

  int64_t tileRows = 0;
  int64_t blockRows = 0;
  int64_t blocks = 0; // of rows, for one slot and key-value head
  int64_t keyBlock = 0;
  int64_t keyVectors = 0; // of a register tile of scores
  int64_t valueVectors = 0;

  int64_t getGrid() const { return batch * keyHeads * blocks; }

  /// Reads a kernel function and cuts its work for the target. What the generator cannot do is
  /// reported as an error.
  static mlir::FailureOr<AttentionPlan> make(mlir::func::FuncOp kernel, TargetAttr target);
};

/// The number by which a dropout knows the weight of key `key` for a query. `seed` is the kernel's.
mlir::Value emitWeightNumber(VectorBuilder &builder, const AttentionOperands &operands,
                             mlir::Value seed, mlir::Value slot, mlir::Value head,
                             mlir::Value query, mlir::Value key);

} // namespace sinter
