//===- AttentionPlan.h - What an attention kernel computes ------*- C++ -*-===//
#pragma once

#include "compiler/Codegen/Loops/StridedInput.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

/// The argument of a kernel that `value` is; an error of `op` that calls it `what` if it is none.
mlir::FailureOr<unsigned> findArgument(mlir::Value value, mlir::Operation *op,
                                       llvm::StringRef what);

/// The same for an operand that may be absent.
mlir::LogicalResult findOptionalArgument(mlir::Value value, mlir::Operation *op,
                                         llvm::StringRef what, std::optional<unsigned> &argument);

/// Whether a dropout of weights `[b, h, t, s]` can be generated: numbers of weights are one word.
mlir::LogicalResult checkDropout(mlir::Operation *op, llvm::ArrayRef<int64_t> weights);

/// Dense `[.., .., .., d]` of f32 or bf16 whose rows of d elements are contiguous.
mlir::FailureOr<StridedInput> traceRows(mlir::Value value, mlir::Operation *op,
                                        llvm::StringRef what);

/// One attention op of a kernel function and how its work is cut.
///
/// The query rows of a key-value head are those of all its query heads: row r of head g is
/// position `r / group` of query head `g * group + r % group`, so that keys and values are read
/// once for the whole group. A work item is a block of `blockRows` such rows of one slot and one
/// key-value head; inside, tiles of `tileRows` rows meet blocks of `keyBlock` keys.
struct AttentionPlan {
  /// How the keys of a block are read: as vectors of positions straight from key panels, or copied
  /// into such panels first (dense).
  enum class Keys { Panels, Copied };

  AttentionOp op;
  StridedInput query;
  /// Storage of keys and values; strides [b, s, g, d] where dense or head-major.
  unsigned keyArgument = 0, valueArgument = 0;
  StridedInput denseKey, value;
  Keys keys = Keys::Copied;
  int64_t panelWidth = 0;
  bool pairs = false; // products of pairs of bf16
  std::optional<unsigned> startArgument, firstArgument, slopesArgument, seedArgument;
  /// Which of the kernel's results is what.
  unsigned resultIndex = 0;
  std::optional<unsigned> logsumexpIndex;
  /// Types that the result is rounded to, one after another, before it is stored.
  llvm::SmallVector<mlir::Type> roundings;

  int64_t batch = 0, length = 0, heads = 0, headSize = 0, capacity = 0, keyHeads = 0;
  int64_t group = 0; // query heads of a key-value head
  int64_t rows = 0;  // length * group
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

} // namespace sinter
