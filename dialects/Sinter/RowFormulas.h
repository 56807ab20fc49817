//===- RowFormulas.h - Formulas over the rows of a tensor -------*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// Builds formulas over rows of one type.
struct RowBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::RankedTensorType type;
  mlir::RankedTensorType rowType =
      mlir::RankedTensorType::get(type.getShape().drop_back(), type.getElementType());

  /// A value a row, repeated along it.
  mlir::Value spread(mlir::Value perRow) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rowType.getRank()));
    return BroadcastOp::create(builder, loc, type, perRow, dims);
  }
  /// The value in another element type, if it has another.
  mlir::Value cast(mlir::Value value, mlir::Type element) {
    auto tensor = llvm::cast<mlir::RankedTensorType>(value.getType());
    if (tensor.getElementType() == element)
      return value;
    return CastOp::create(builder, loc, mlir::RankedTensorType::get(tensor.getShape(), element),
                          value);
  }
  /// A value a column, repeated for every row, in the rows' element type.
  mlir::Value repeat(mlir::Value perColumn) {
    return BroadcastOp::create(builder, loc, type, cast(perColumn, type.getElementType()),
                               llvm::ArrayRef<int64_t>{type.getRank() - 1});
  }
  mlir::Value reduce(mlir::Value rows, ReductionKind kind) {
    return ReduceOp::create(builder, loc, rowType, rows, kind);
  }
  mlir::Value mean(mlir::Value rows) { return reduce(rows, ReductionKind::Mean); }
  /// 1 / sqrt(mean(x^2) + eps), a value a row.
  mlir::Value inverseRootMeanSquare(mlir::Value rows, llvm::APFloat eps) {
    mlir::Value square = mean(mul(rows, rows));
    mlir::Value shift = ConstantOp::create(builder, loc, rowType, eps.convertToDouble());
    return RsqrtOp::create(builder, loc, add(square, shift));
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return AddOp::create(builder, loc, a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return SubOp::create(builder, loc, a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return MulOp::create(builder, loc, a, b); }
  /// log(sum of e^x), a value a row.
  mlir::Value logSumExp(mlir::Value rows) {
    mlir::Value largest = reduce(rows, ReductionKind::Max);
    mlir::Value powers = ExpOp::create(builder, loc, sub(rows, spread(largest)));
    return add(LogOp::create(builder, loc, reduce(powers, ReductionKind::Sum)), largest);
  }
  /// The element of each row that `ids` names, 0 for one outside.
  mlir::Value pick(mlir::Value rows, mlir::Value ids) {
    return PickOp::create(builder, loc, rowType, rows, ids);
  }
  /// 1 where an id names an element of a row, else 0.
  mlir::Value isInside(mlir::Value ids) {
    return pick(ConstantOp::create(builder, loc, type, 1.0), ids);
  }
  /// The columns' sums over each of `blocks` blocks of rows, `[blocks, d]`.
  mlir::Value columnSums(mlir::Value rows, int64_t blocks) {
    int64_t width = type.getShape().back();
    auto cut = mlir::RankedTensorType::get(
        {blocks, type.getNumElements() / (blocks * width), width}, type.getElementType());
    mlir::Value parts = ReshapeOp::create(builder, loc, cut, rows);
    auto sums = mlir::RankedTensorType::get({blocks, width}, getSumType(type.getElementType()));
    return ColumnSumOp::create(builder, loc, sums, parts);
  }
};

/// mean((x - center)^2) of a row.
inline double meanSquare(llvm::ArrayRef<double> row, double center) {
  double sum = 0;
  for (double x : row)
    sum += (x - center) * (x - center);
  return sum / row.size();
}

/// log(sum of e^x) of a row.
double logSumExp(llvm::ArrayRef<double> row);

/// Shared constraints of norms and their gradients: `[d]` parameters (c1), eps >= 0 (c2).
mlir::LogicalResult verifyNorm(mlir::Operation *op, mlir::RankedTensorType operand,
                               mlir::ValueRange parameters, llvm::APFloat eps);

} // namespace sinter
