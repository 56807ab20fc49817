//===- CudaExpression.h - Parts of C++ text ---------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Types.h"
#include <string>

namespace sinter {

/// How tightly an expression's outermost operator binds, from a name or a call on.
enum class Binding { Primary, Unary, Product, Sum, Shift, Order, Equality, And, Xor, Or, Choice };

/// A C++ expression.
struct CudaExpression {
  std::string text;
  Binding binding = Binding::Primary;

  /// The text, in parentheses where it binds less tightly than `limit`.
  std::string within(Binding limit) const { return binding > limit ? "(" + text + ")" : text; }
};

/// `left op right` of a left-associative operator.
CudaExpression makeBinary(const CudaExpression &left, llvm::StringRef op,
                          const CudaExpression &right, Binding binding);

/// `function(arguments...)`.
CudaExpression makeCall(const llvm::Twine &function, llvm::ArrayRef<std::string> arguments);

/// A number as a literal that means exactly it; `type` is what it is computed in.
std::string makeFloatLiteral(const llvm::APFloat &value);

/// The C++ type of a scalar or a vector, or nothing where there is none. `wide` says that indices
/// have 64 bits.
std::optional<std::string> getCudaType(mlir::Type type, bool wide);

} // namespace sinter
