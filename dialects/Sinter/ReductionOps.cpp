#include "dialects/Sinter/SinterDialect.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

int64_t ReduceOp::getFlops() { return getOperand().getType().getNumElements(); }
FusionRole ReduceOp::getFusionRole() { return FusionRole::RowReduction; }

LogicalResult ReduceOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  if (operand.getRank() < 1 || result.getShape() != operand.getShape().drop_back() ||
      result.getElementType() != operand.getElementType()) // reduce_c1
    return emitOpError("expected the operand's type without its last dimension, got ")
           << operand << " -> " << result;
  return success();
}

SmallVector<ReferenceTensor> ReduceOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t width = operands[0].getShape().back();
  for (int64_t row = 0; row < result.getNumElements(); ++row) {
    ArrayRef<double> values = operands[0].data().slice(row * width, width);
    double value = getKind() == ReductionKind::Max ? values[0] : 0.0;
    for (double x : values)
      value = getKind() == ReductionKind::Max ? std::max(value, x) : value + x;
    result[row] = getKind() == ReductionKind::Mean ? value / width : value;
  }
  result.round();
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Shared constraints: `[d]` parameters (c1), eps >= 0 (c2).
static LogicalResult verifyNorm(Operation *op, RankedTensorType operand, ValueRange parameters,
                                APFloat eps) {
  for (Value parameter : parameters) {
    auto type = cast<RankedTensorType>(parameter.getType());
    if (operand.getRank() < 1 || type.getRank() != 1 ||
        type.getDimSize(0) != operand.getShape().back())
      return op->emitOpError("expected parameters of the operand's last dimension, got ")
             << operand << " and " << type;
  }
  if (eps.isNegative() && !eps.isZero())
    return op->emitOpError("expected eps not to be negative");
  return success();
}

namespace {
/// Builds formulas over rows of one type.
struct RowBuilder {
  OpBuilder &builder;
  Location loc;
  RankedTensorType type;
  RankedTensorType rowType =
      RankedTensorType::get(type.getShape().drop_back(), type.getElementType());

  /// A value a row, repeated along it.
  Value spread(Value perRow) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rowType.getRank()));
    return BroadcastOp::create(builder, loc, type, perRow, dims);
  }
  /// A value a column, repeated for every row, in the rows' element type.
  Value repeat(Value perColumn) {
    auto columns = cast<RankedTensorType>(perColumn.getType());
    if (columns.getElementType() != type.getElementType())
      perColumn = CastOp::create(builder, loc,
                                 RankedTensorType::get(columns.getShape(), type.getElementType()),
                                 perColumn);
    return BroadcastOp::create(builder, loc, type, perColumn,
                               ArrayRef<int64_t>{type.getRank() - 1});
  }
  Value mean(Value rows) {
    return ReduceOp::create(builder, loc, rowType, rows, ReductionKind::Mean);
  }
  /// 1 / sqrt(mean(x^2) + eps), a value a row.
  Value inverseRootMeanSquare(Value rows, APFloat eps) {
    Value square = mean(MulOp::create(builder, loc, rows, rows));
    Value shift = ConstantOp::create(builder, loc, rowType, eps.convertToDouble());
    return RsqrtOp::create(builder, loc, AddOp::create(builder, loc, square, shift));
  }
};

/// mean((x - center)^2) of a row.
double meanSquare(ArrayRef<double> row, double center) {
  double sum = 0;
  for (double x : row)
    sum += (x - center) * (x - center);
  return sum / row.size();
}
} // namespace

int64_t RmsNormOp::getFlops() { return 4 * getType().getNumElements(); }
FusionRole RmsNormOp::getFusionRole() { return FusionRole::RowReduction; }

LogicalResult RmsNormOp::verify() { // rms_norm_c1, rms_norm_c2
  return verifyNorm(*this, getType(), getWeight(), getEps());
}

SmallVector<Value> RmsNormOp::decompose(OpBuilder &builder) {
  RowBuilder rows{builder, getLoc(), getType()};
  Value scale = rows.spread(rows.inverseRootMeanSquare(getOperand(), getEps()));
  Value normal = MulOp::create(builder, getLoc(), getOperand(), scale);
  return {MulOp::create(builder, getLoc(), normal, rows.repeat(getWeight()))};
}

SmallVector<ReferenceTensor> RmsNormOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t width = result.getShape().back();
  for (int64_t i = 0; i < result.getNumElements(); i += width) {
    double square = meanSquare(operands[0].data().slice(i, width), 0.0);
    double scale = 1.0 / std::sqrt(square + getEps().convertToDouble());
    for (int64_t j = 0; j < width; ++j)
      result[i + j] = operands[0][i + j] * scale * operands[1][j];
  }
  result.round();
  return {std::move(result)};
}

int64_t LayerNormOp::getFlops() { return 7 * getType().getNumElements(); }
FusionRole LayerNormOp::getFusionRole() { return FusionRole::RowReduction; }

LogicalResult LayerNormOp::verify() { // layer_norm_c1, layer_norm_c2
  return verifyNorm(*this, getType(), getOperands().drop_front(), getEps());
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  RowBuilder rows{builder, getLoc(), getType()};
  Value center = rows.spread(rows.mean(getOperand()));
  Value centered = SubOp::create(builder, getLoc(), getOperand(), center);
  Value scale = rows.spread(rows.inverseRootMeanSquare(centered, getEps()));
  Value normal = MulOp::create(builder, getLoc(), centered, scale);
  Value result = MulOp::create(builder, getLoc(), normal, rows.repeat(getWeight()));
  if (getBias())
    result = AddOp::create(builder, getLoc(), result, rows.repeat(getBias()));
  return {result};
}

SmallVector<ReferenceTensor> LayerNormOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t width = result.getShape().back();
  for (int64_t i = 0; i < result.getNumElements(); i += width) {
    ArrayRef<double> row = operands[0].data().slice(i, width);
    double mean = 0;
    for (double x : row)
      mean += x / width;
    double scale = 1.0 / std::sqrt(meanSquare(row, mean) + getEps().convertToDouble());
    for (int64_t j = 0; j < width; ++j)
      result[i + j] = (row[j] - mean) * scale * operands[1][j] + (getBias() ? operands[2][j] : 0.0);
  }
  result.round();
  return {std::move(result)};
}
