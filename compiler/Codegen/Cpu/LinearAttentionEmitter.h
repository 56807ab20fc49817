//===- LinearAttentionEmitter.h - What both kernels are written in -*- C++ -*-===//
#pragma once

#include "compiler/Codegen/Cpu/VectorBuilder.h"

namespace sinter {

/// A kernel of one op, linear_attention or its gradients, whose work items have some columns of
/// heads' states in scratch memory, a few vectors wide, that stays in the nearest cache: columns
/// do not meet but in sums of their own.
class LinearAttentionEmitter {
protected:
  template <typename Op>
  LinearAttentionEmitter(Op op, mlir::func::FuncOp loopKernel, TargetAttr target)
      : LinearAttentionEmitter(op.getKey(), op.getValue(), op.getDecay(), loopKernel, target) {
    kernel = op->template getParentOfType<mlir::func::FuncOp>();
  }
  LinearAttentionEmitter(mlir::Value key, mlir::Value value, mlir::Value decay,
                         mlir::func::FuncOp loopKernel, TargetAttr target);

  /// The items that a call computes.
  void forEachItem(llvm::function_ref<void(mlir::Value item)> body);
  /// Columns of the head from one on, a vector of each of `vectors`.
  void setColumns(mlir::Value begin);

  mlir::Value getMemory(mlir::Value operand);
  /// The memory of a result, or null where nobody needs it.
  mlir::Value getMemoryOfResult(mlir::Value result);

  mlir::Value multiplyAdd(mlir::Value a, int64_t b, mlir::Value c);
  /// Where the query and key of a token and of the head begin.
  mlir::Value getKeyRow(mlir::Value t);
  mlir::Value getGate(mlir::Value t);
  /// Where the item's columns of a token's value begin.
  mlir::Value getValueRow(mlir::Value t);
  mlir::Value at(mlir::Value offset, int64_t vector);
  /// Where a vector of row i of the item's state is.
  mlir::Value ofState(mlir::Value i, int64_t vector);
  /// exp(decay) of a token.
  mlir::Value getFactor(mlir::Value gate);

  llvm::SmallVector<mlir::Value> zeros(int64_t count);
  void forEachRow(llvm::function_ref<void(mlir::Value)> body);
  void clearState();

  VectorBuilder builder;
  mlir::ValueRange arguments;
  mlir::func::FuncOp kernel;
  mlir::Value decay;
  int64_t lanes, slots, tokens, heads, width, groups, depth;
  int64_t rows; ///< of the state in scratch memory: whole vectors of keys
  int64_t vectors, columns;
  mlir::Value state; ///< of an item, [rows][columns]
  mlir::Value slot, head, first;
  llvm::SmallVector<mlir::Value> masks; ///< of columns that there are, or nulls
};

/// That a kernel is one op of numbers that vectors hold, with keys that its state has room for.
mlir::LogicalResult verifyLinearAttention(mlir::func::FuncOp tensorKernel);

} // namespace sinter
