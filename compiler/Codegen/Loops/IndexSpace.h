//===- IndexSpace.h - Index arithmetic over known ranges --------*- C++ -*-===//
//
// Fused index ops (reshape, slice, transpose, layouts) compose into affine expressions of loop
// counters full of `floordiv` and `mod`. Nearly all of them vanish once the ranges of the counters
// are known:
//
//   h in [0, 12), d in [0, 64):   (h * 64 + d) floordiv 64  ->  h
//                                 (h * 64 + d) mod 64       ->  d
//                                 (c floordiv 64) * 64 + c mod 64  ->  c
//
// What is left is what a loop can stride over. An IndexSpace owns the dimensions (a loop counter
// or a position read from memory, each with its range) and does the simplification.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

namespace sinter {

/// Dimensions with ranges and values, and expressions over them.
class IndexSpace {
public:
  explicit IndexSpace(mlir::MLIRContext *context) : context(context) {}

  /// An integer interval, both ends included.
  struct Range {
    int64_t first, last;
  };

  /// A new dimension with values in [lower, upper), standing for an index `value` (null for one
  /// that is only reasoned about).
  mlir::AffineExpr addDim(mlir::Value value, int64_t lower, int64_t upper);

  /// An equal expression that is as plain as the ranges allow.
  mlir::AffineExpr simplify(mlir::AffineExpr expr) const;

  /// Values that the expression can take (possibly an overestimate).
  Range getRange(mlir::AffineExpr expr) const;

  /// `index` in row-major order as one number.
  mlir::AffineExpr linearize(llvm::ArrayRef<mlir::AffineExpr> index,
                             llvm::ArrayRef<int64_t> shape) const;

  /// The multi-index of element number `linear` of a shape, in row-major order.
  llvm::SmallVector<mlir::AffineExpr> delinearize(mlir::AffineExpr linear,
                                                  llvm::ArrayRef<int64_t> shape) const;

  /// The results of `map` at `index`.
  llvm::SmallVector<mlir::AffineExpr> apply(mlir::AffineMap map,
                                            llvm::ArrayRef<mlir::AffineExpr> index) const;

  /// Whether the value of the expression changes with the dimension.
  static bool dependsOn(mlir::AffineExpr expr, mlir::AffineExpr dim);
  static bool dependsOn(llvm::ArrayRef<mlir::AffineExpr> index, mlir::AffineExpr dim);

  /// Whether every dimension of the expressions has a value, so that they can be materialized.
  bool haveValues(llvm::ArrayRef<mlir::AffineExpr> exprs) const;

  /// Code for the expression's value, of type index.
  mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::AffineExpr expr) const;

  mlir::AffineExpr constant(int64_t value) const {
    return mlir::getAffineConstantExpr(value, context);
  }

private:
  struct Dim {
    mlir::Value value;
    Range range;
  };

  mlir::MLIRContext *context;
  llvm::SmallVector<Dim> dims;
};

} // namespace sinter
