//===- Adjoint.h - What an op's adjoint reads and adds to -------*- C++ -*-===//
//
// Reverse mode visits the ops of a function from the last to the first. When it comes to an op, the
// gradients of its results are complete: all that uses them has been visited. The op then adds what
// they contribute to the gradients of its operands. For z = x * y with the loss L:
//
//   dL/dx += dL/dz * y        adjoint.add(x, mul(adjoint.getGradient(z), y))
//   dL/dy += dL/dz * x        adjoint.add(y, mul(adjoint.getGradient(z), x))
//
// An adjoint may use the op's operands and results: they are saved for the backward pass by being
// used in it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"

namespace sinter {

/// The gradients of one function's values while its backward pass is built.
class Adjoint {
public:
  virtual ~Adjoint() = default;

  /// Where the backward pass is built, and the location of the op being visited.
  virtual mlir::OpBuilder &getBuilder() = 0;
  virtual mlir::Location getLoc() = 0;

  /// The gradient of a result, of its type; null where the loss does not depend on it.
  virtual mlir::Value getGradient(mlir::Value result) = 0;

  /// Whether the loss's gradient needs that of the operand: it depends on what is differentiated.
  virtual bool isNeeded(mlir::Value operand) const = 0;

  /// Adds to the gradient of an operand. A gradient that is not needed is dropped.
  /// @pre `gradient` has the operand's type.
  virtual void add(mlir::Value operand, mlir::Value gradient) = 0;

  /// Adds to the box of `gradient`'s shape at `offsets` of an operand's gradient.
  virtual void addSlice(mlir::Value operand, llvm::ArrayRef<int64_t> offsets,
                        mlir::Value gradient) = 0;
};

} // namespace sinter
