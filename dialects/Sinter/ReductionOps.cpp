#include "dialects/Sinter/RowFormulas.h"
#include "dialects/Sinter/SumTree.h"
#include <cmath>
#include <functional>

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
// ColumnSumOp
//===----------------------------------------------------------------------===//

Type sinter::getSumType(Type element) {
  bool narrow = element.getIntOrFloatBitWidth() < 32;
  return narrow ? Float32Type::get(element.getContext()) : element;
}

int64_t ColumnSumOp::getFlops() { return getOperand().getType().getNumElements(); }
FusionRole ColumnSumOp::getFusionRole() { return FusionRole::ColumnReduction; }

LogicalResult ColumnSumOp::verify() {
  RankedTensorType operand = getOperand().getType();
  SmallVector<int64_t> shape(operand.getShape());
  if (shape.size() >= 2)
    shape.erase(shape.end() - 2);
  if (operand.getRank() < 2 || getType().getShape() != ArrayRef(shape)) // column_sum_c1
    return emitOpError("expected the operand's shape without the dimension before the last, got ")
           << operand << " -> " << getType();
  if (getType().getElementType() != getSumType(operand.getElementType())) // column_sum_c2
    return emitOpError("expected a result of ")
           << getSumType(operand.getElementType()) << ", got " << getType();
  return success();
}

SmallVector<ReferenceTensor> ColumnSumOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  ArrayRef<int64_t> shape = operands[0].getShape();
  int64_t width = shape.back(), rows = shape[shape.size() - 2];
  for (int64_t i = 0; i < operands[0].getNumElements(); ++i)
    result[i / (rows * width) * width + i % width] += operands[0][i];
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// SumPartsOp
//===----------------------------------------------------------------------===//

int64_t SumPartsOp::getFlops() {
  return getOperand().getType().getNumElements() - getType().getNumElements();
}
FusionRole SumPartsOp::getFusionRole() { return FusionRole::PartReduction; }

LogicalResult SumPartsOp::verify() {
  RankedTensorType operand = getOperand().getType(), result = getType();
  if (operand.getRank() < 1 || operand.getDimSize(0) < 1 ||
      result.getShape() != operand.getShape().drop_front() ||
      result.getElementType() != operand.getElementType()) // sum_parts_c1
    return emitOpError("expected at least one part and a result of a part's type, got ")
           << operand << " -> " << result;
  return success();
}

SmallVector<ReferenceTensor> SumPartsOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t elements = result.getNumElements();
  for (int64_t i = 0; i < elements; ++i)
    result[i] = sumAlongTree<double>(
        getOperand().getType().getDimSize(0),
        [&](int64_t part) { return operands[0][part * elements + i]; }, std::plus<double>());
  result.round();
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

LogicalResult sinter::verifyNorm(Operation *op, RankedTensorType operand, ValueRange parameters,
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

//===----------------------------------------------------------------------===//
// CrossEntropyOp
//===----------------------------------------------------------------------===//

double sinter::logSumExp(ArrayRef<double> row) {
  double largest = *llvm::max_element(row), sum = 0;
  for (double x : row)
    sum += std::exp(x - largest);
  return largest + std::log(sum);
}

int64_t CrossEntropyOp::getFlops() { return 4 * getLogits().getType().getNumElements(); }
FusionRole CrossEntropyOp::getFusionRole() { return FusionRole::RowReduction; }

LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = getLogits().getType();
  if (logits.getRank() != 2 || getType().getShape() != logits.getShape().drop_back() ||
      getTargets().getType().getShape() != getType().getShape()) // cross_entropy_c1
    return emitOpError("expected logits [n, v], targets [n] and a result [n], got ")
           << logits << ", " << getTargets().getType() << " -> " << getType();
  if (getType().getElementType() != getSumType(logits.getElementType())) // cross_entropy_c2
    return emitOpError("expected a result of ")
           << getSumType(logits.getElementType()) << ", got " << getType();
  if (getZLoss().isNegative() && !getZLoss().isZero()) // cross_entropy_c3
    return emitOpError("expected z_loss not to be negative");
  return success();
}

SmallVector<Value> CrossEntropyOp::decompose(OpBuilder &builder) {
  RowBuilder rows{builder, getLoc(), getLogits().getType()};
  Value scale = rows.logSumExp(getLogits());
  Value penalized = scale;
  if (!getZLoss().isZero()) {
    Value weight =
        ConstantOp::create(builder, getLoc(), rows.rowType, getZLoss().convertToDouble());
    penalized = rows.add(scale, rows.mul(weight, rows.mul(scale, scale)));
  }
  Value chosen = rows.pick(getLogits(), getTargets());
  Value loss = rows.sub(rows.mul(penalized, rows.isInside(getTargets())), chosen);
  return {rows.cast(loss, getType().getElementType())};
}

SmallVector<ReferenceTensor> CrossEntropyOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t width = operands[0].getShape().back();
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    auto target = static_cast<int64_t>(operands[1][i]);
    if (target < 0 || target >= width)
      continue;
    double scale = logSumExp(operands[0].data().slice(i * width, width));
    result[i] =
        scale - operands[0][i * width + target] + getZLoss().convertToDouble() * scale * scale;
  }
  return {std::move(result)};
}
