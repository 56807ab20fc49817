//===- AttentionOperands.h - What an attention kernel is given --*- C++ -*-===//
#pragma once

#include "compiler/Codegen/Loops/StridedInput.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

/// The argument of a kernel that `value` is; an error of `op` that calls it `what` if it is none.
mlir::FailureOr<unsigned> findArgument(mlir::Value value, mlir::Operation *op,
                                       llvm::StringRef what);

/// The sizes of an attention or of its gradient, and the operands that both have. An op that the
/// kernels cannot do is reported as an error.
struct AttentionOperands {
  int64_t batch = 0, length = 0, heads = 0, headSize = 0, maxSequence = 0, keyHeads = 0;
  int64_t group = 0; ///< query heads of a key-value head
  int64_t rows = 0;  ///< length * group
  /// The extents [h, t, s] by which a dropout numbers weights; of a part, those of the whole, and
  /// the third number of the seed is that of its first one.
  std::array<int64_t, 3> numbered{};
  bool isPart = false;
  StridedInput query;
  std::optional<unsigned> startArgument, firstArgument, slopesArgument, seedArgument;

  /// Reads an AttentionOp or an AttentionGradOp. `f16` says whether the kernels take it, `widest`
  /// how many elements of a head.
  template <typename Op> mlir::LogicalResult read(Op op, bool f16, int64_t widest);
};

/// Dense `[.., .., .., d]` of f32, bf16 or 8 bits, of f16 where the kernels take it (a GPU's),
/// whose rows of d elements are contiguous.
mlir::FailureOr<StridedInput> traceRows(mlir::Value value, mlir::Operation *op,
                                        llvm::StringRef what, bool f16);

/// What an attention kernel returns.
struct AttentionResults {
  unsigned resultIndex = 0; ///< of the kernel's results
  std::optional<unsigned> logsumexpIndex;
  /// Types that the result is rounded to, one after another, before it is stored.
  llvm::SmallVector<mlir::Type> roundings;

  mlir::LogicalResult read(AttentionOp op, mlir::func::FuncOp kernel, bool f16);
};

/// Which of an attention_grad kernel's results the gradients are; none where one is not used.
struct AttentionGradResults {
  std::optional<unsigned> queryResult, keyResult, valueResult;

  /// `narrow` says whether the kernels round gradients to 16 bits where that is what they are.
  mlir::LogicalResult read(AttentionGradOp op, mlir::func::FuncOp kernel, bool narrow);
};

/// The one op of this type in a kernel, or an error.
template <typename Op>
mlir::FailureOr<Op> findOnly(mlir::func::FuncOp kernel, llvm::StringRef what) {
  Op found;
  for (auto op : kernel.front().getOps<Op>()) {
    if (found)
      return op.emitError("expected one ") << what << " in a kernel";
    found = op;
  }
  if (!found)
    return kernel.emitError("expected an op of ") << what << " in the kernel";
  return found;
}

} // namespace sinter
