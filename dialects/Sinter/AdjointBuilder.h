//===- AdjointBuilder.h - Ops that adjoints are made of ---------*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// Builds ops of the backward pass with their result types inferred.
class AdjointBuilder {
public:
  AdjointBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}
  explicit AdjointBuilder(Adjoint &adjoint)
      : AdjointBuilder(adjoint.getBuilder(), adjoint.getLoc()) {}

  using Shape = llvm::ArrayRef<int64_t>;

  mlir::Value reshape(mlir::Value x, Shape shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> offsets, Shape shape);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> parts, int64_t dim);
  mlir::Value splat(Shape shape, mlir::Type elementType, double value);
  /// `[a, ...]` as a matrix: the last dimension stays, all others are one.
  mlir::Value flatten(mlir::Value x);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value neg(mlir::Value x);
  mlir::Value scale(mlir::Value x, double factor);
  /// A value a row, repeated `width` times.
  mlir::Value spread(mlir::Value perRow, int64_t width);

  /// `[n, d]` to `[d]`: the sum of all rows in two stages, blocks of rows and then their sums, so
  /// that all cores have work and the order of the additions is fixed by the shape.
  mlir::Value sumRows(mlir::Value matrix);
  /// `[..., d]` to `[...]`: the sum of each row.
  mlir::Value sumColumns(mlir::Value x);

  /// Blocks that `rows` rows are summed in: a divisor of `rows`, larger for a GPU.
  int64_t countBlocks(int64_t rows);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace sinter
