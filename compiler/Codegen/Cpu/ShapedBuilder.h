//===- ShapedBuilder.h - Arithmetic on scalars or vectors ------*- C++ -*-===//
//
// What expands an op of scalars or of vectors writes its arithmetic once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sinter {

/// Builds constants and casts of the shape of one type: a scalar, or a vector of any length.
class ShapedBuilder : public mlir::ImplicitLocOpBuilder {
public:
  ShapedBuilder(mlir::Location loc, mlir::OpBuilder &builder, mlir::Type type)
      : ImplicitLocOpBuilder(loc, builder), type(type) {}

  /// The type as given.
  mlir::Type getShapedType() const { return type; }

  /// The type of this shape with other elements.
  mlir::Type withElement(mlir::Type element) const {
    auto vector = mlir::dyn_cast<mlir::VectorType>(type);
    return vector ? mlir::Type(vector.clone(element)) : element;
  }

  /// A scalar in every lane.
  mlir::Value constant(mlir::TypedAttr value) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(withElement(value.getType())))
      value = mlir::DenseElementsAttr::get(vector, mlir::Attribute(value));
    return mlir::arith::ConstantOp::create(*this, value);
  }
  /// An i32 in every lane.
  mlir::Value integer(int32_t value) { return constant(getI32IntegerAttr(value)); }

  /// The same bits as elements of another type of the same width.
  mlir::Value bitcast(mlir::Type element, mlir::Value value) {
    return mlir::arith::BitcastOp::create(*this, withElement(element), value);
  }

private:
  mlir::Type type;
};

} // namespace sinter
