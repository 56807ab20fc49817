#include "dialects/Sinter/RowFormulas.h"
#include "mlir/IR/PatternMatch.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace sinter;

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// What both norms' gradients constrain beside verifyNorm: the partials (c3), the blocks (c4).
static LogicalResult verifyPartials(Operation *op, RankedTensorType operand) {
  auto first = cast<RankedTensorType>(op->getResult(1).getType());
  int64_t width = operand.getShape().back(),
          blocks = first.getRank() == 2 ? first.getDimSize(0) : 1;
  auto partials = RankedTensorType::get({blocks, width}, getSumType(operand.getElementType()));
  for (Type type : llvm::drop_begin(op->getResultTypes()))
    if (type != partials)
      return op->emitOpError("expected partial sums of type ") << partials << ", got " << type;
  int64_t rows = width == 0 ? 0 : operand.getNumElements() / width;
  if (blocks == 0 || rows % blocks != 0)
    return op->emitOpError("expected blocks to divide ") << rows << " rows, got " << blocks;
  return success();
}

/// The results of both norms' gradients in plain arithmetic. Without `centered` the mean is not
/// taken off, and there are no sums of the gradient.
static SmallVector<ReferenceTensor>
evaluateNormGrad(Operation *op, ArrayRef<ReferenceTensor> operands, double eps, bool centered) {
  SmallVector<ReferenceTensor> results;
  for (Type type : op->getResultTypes())
    results.emplace_back(cast<RankedTensorType>(type));
  const ReferenceTensor &weight = operands[1], &gradient = operands[2];
  int64_t width = weight.getNumElements();
  int64_t rows = operands[0].getNumElements() / width;
  int64_t rowsOfBlock = rows / results[1].getShape()[0];
  for (int64_t row = 0; row < rows; ++row) {
    ArrayRef<double> x = operands[0].data().slice(row * width, width);
    double center = 0;
    for (double value : x)
      center += centered ? value / width : 0.0;
    double scale = 1.0 / std::sqrt(meanSquare(x, center) + eps);
    double mean = 0, projection = 0;
    for (int64_t j = 0; j < width; ++j) {
      double part = gradient[row * width + j] * weight[j] / width;
      mean += centered ? part : 0.0;
      projection += part * (x[j] - center) * scale;
    }
    for (int64_t j = 0; j < width; ++j) {
      double g = gradient[row * width + j], normal = (x[j] - center) * scale;
      results[0][row * width + j] = scale * (g * weight[j] - mean - normal * projection);
      results[1][row / rowsOfBlock * width + j] += g * normal;
      if (centered)
        results[2][row / rowsOfBlock * width + j] += g;
    }
  }
  results[0].round();
  return results;
}

int64_t RmsNormGradOp::getFlops() { return 11 * getOperand().getType().getNumElements(); }
FusionRole RmsNormGradOp::getFusionRole() { return FusionRole::ColumnReduction; }

LogicalResult RmsNormGradOp::verify() { // rms_norm_grad_c1, _c2; rms_norm_grad_c3, _c4
  if (failed(verifyNorm(*this, getOperand().getType(), getWeight(), getEps())))
    return failure();
  return verifyPartials(*this, getOperand().getType());
}

SmallVector<Value> RmsNormGradOp::decompose(OpBuilder &builder) {
  RowBuilder rows{builder, getLoc(), getOperand().getType()};
  Value scale = rows.spread(rows.inverseRootMeanSquare(getOperand(), getEps()));
  Value normal = rows.mul(getOperand(), scale);
  Value weighted = rows.mul(getGradient(), rows.repeat(getWeight()));
  Value projection = rows.spread(rows.mean(rows.mul(weighted, normal)));
  Value result = rows.mul(scale, rows.sub(weighted, rows.mul(normal, projection)));
  return {result, rows.columnSums(rows.mul(getGradient(), normal), getBlocks())};
}

SmallVector<ReferenceTensor> RmsNormGradOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return evaluateNormGrad(*this, operands, getEps().convertToDouble(), /*centered=*/false);
}

int64_t LayerNormGradOp::getFlops() { return 16 * getOperand().getType().getNumElements(); }
FusionRole LayerNormGradOp::getFusionRole() { return FusionRole::ColumnReduction; }

LogicalResult LayerNormGradOp::verify() { // layer_norm_grad_c1, _c2; layer_norm_grad_c3, _c4
  if (failed(verifyNorm(*this, getOperand().getType(), getWeight(), getEps())))
    return failure();
  return verifyPartials(*this, getOperand().getType());
}

SmallVector<Value> LayerNormGradOp::decompose(OpBuilder &builder) {
  RowBuilder rows{builder, getLoc(), getOperand().getType()};
  Value centered = rows.sub(getOperand(), rows.spread(rows.mean(getOperand())));
  Value scale = rows.spread(rows.inverseRootMeanSquare(centered, getEps()));
  Value normal = rows.mul(centered, scale);
  Value weighted = rows.mul(getGradient(), rows.repeat(getWeight()));
  Value mean = rows.spread(rows.mean(weighted));
  Value projection = rows.spread(rows.mean(rows.mul(weighted, normal)));
  Value result = rows.mul(scale, rows.sub(rows.sub(weighted, mean), rows.mul(normal, projection)));
  return {result, rows.columnSums(rows.mul(getGradient(), normal), getBlocks()),
          rows.columnSums(getGradient(), getBlocks())};
}

SmallVector<ReferenceTensor> LayerNormGradOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return evaluateNormGrad(*this, operands, getEps().convertToDouble(), /*centered=*/true);
}

//===----------------------------------------------------------------------===//
// CrossEntropyGradOp
//===----------------------------------------------------------------------===//

int64_t CrossEntropyGradOp::getFlops() { return 7 * getType().getNumElements(); }
FusionRole CrossEntropyGradOp::getFusionRole() { return FusionRole::RowReduction; }

LogicalResult CrossEntropyGradOp::verify() {
  RankedTensorType gradient = getGradient().getType();
  if (getType().getRank() != 2 || gradient.getShape() != getType().getShape().drop_back() ||
      getTargets().getType().getShape() != gradient.getShape()) // cross_entropy_grad_c1
    return emitOpError("expected logits [n, v], targets [n] and gradient [n], got ")
           << getType() << ", " << getTargets().getType() << " and " << gradient;
  if (gradient.getElementType() != getSumType(getType().getElementType())) // cross_entropy_grad_c2
    return emitOpError("expected a gradient of ")
           << getSumType(getType().getElementType()) << ", got " << gradient;
  if (getZLoss().isNegative() && !getZLoss().isZero()) // cross_entropy_grad_c3
    return emitOpError("expected z_loss not to be negative");
  return success();
}

SmallVector<Value> CrossEntropyGradOp::decompose(OpBuilder &builder) {
  RowBuilder rows{builder, getLoc(), getType()};
  Value scale = rows.logSumExp(getLogits());
  Value softmax = ExpOp::create(builder, getLoc(), rows.sub(getLogits(), rows.spread(scale)));
  Value hot = OneHotOp::create(builder, getLoc(), getType(), getTargets());
  Value gradient =
      rows.mul(rows.cast(getGradient(), getType().getElementType()), rows.isInside(getTargets()));
  if (getZLoss().isZero())
    return {rows.mul(rows.sub(softmax, hot), rows.spread(gradient))};
  auto constant = [&](double value) -> Value {
    return ConstantOp::create(builder, getLoc(), rows.rowType, value);
  };
  Value factor =
      rows.add(constant(1.0), rows.mul(constant(2 * getZLoss().convertToDouble()), scale));
  Value pulled = rows.mul(softmax, rows.spread(factor));
  return {rows.mul(rows.sub(pulled, hot), rows.spread(gradient))};
}

SmallVector<ReferenceTensor> CrossEntropyGradOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t width = getType().getDimSize(1);
  for (int64_t i = 0; i < getType().getDimSize(0); ++i) {
    auto target = static_cast<int64_t>(operands[1][i]);
    if (target < 0 || target >= width)
      continue;
    double scale = logSumExp(operands[0].data().slice(i * width, width));
    double factor = 1 + 2 * getZLoss().convertToDouble() * scale;
    for (int64_t j = 0; j < width; ++j)
      result[i * width + j] =
          operands[2][i] *
          (std::exp(operands[0][i * width + j] - scale) * factor - (j == target ? 1.0 : 0.0));
  }
  result.round();
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// EmbeddingGradOp
//===----------------------------------------------------------------------===//

int64_t EmbeddingGradOp::getFlops() { return getGradient().getType().getNumElements(); }
FusionRole EmbeddingGradOp::getFusionRole() { return FusionRole::Opaque; }

// Without zeros to write, the chosen rows alone are read and written.
int64_t EmbeddingGradOp::getBytes() {
  int64_t read = getStorageBytes(getGradient().getType()) + getStorageBytes(getIds().getType());
  return read +
         (getInto() ? 2 * getStorageBytes(getGradient().getType()) : getStorageBytes(getType()));
}

LogicalResult EmbeddingGradOp::verify() {
  RankedTensorType gradient = getGradient().getType();
  ArrayRef<int64_t> ids = getIds().getType().getShape(), shape = gradient.getShape();
  if (shape.empty() || shape.drop_back() != ids ||
      getType().getShape() != ArrayRef<int64_t>{static_cast<int64_t>(getRows()), shape.back()} ||
      getType().getElementTypeBitWidth() < 32) // embedding_grad_c1
    return emitOpError("expected a gradient of ids' shape with d appended and a result [rows, d] "
                       "of f32 or f64, got ")
           << getIds().getType() << ", " << gradient << " -> " << getType();
  if (getInto() && getInto().getType() != getType()) // embedding_grad_c2
    return emitOpError("expected into to have the result's type, got ") << getInto().getType();
  if (getStart() && getStart().getType().getShape() != ArrayRef<int64_t>{1}) // embedding_grad_c3
    return emitOpError("expected a start [1], got ") << getStart().getType();
  return success();
}

// add(embedding_grad(ids, g), x) adds to x in place: no table of zeros is made. Not so where x is
// what was added up before, an argument: the sum over a microbatch is to begin with zero, so that
// it is the same bits whoever computes it.
LogicalResult EmbeddingGradOp::canonicalize(EmbeddingGradOp op, PatternRewriter &rewriter) {
  if (op.getInto() || !op->hasOneUse())
    return failure();
  auto add = dyn_cast<AddOp>(*op->user_begin());
  if (!add)
    return failure();
  Value other = add.getLhs() == op.getResult() ? add.getRhs() : add.getLhs();
  if (isa<BlockArgument>(other))
    return failure();
  rewriter.setInsertionPoint(add);
  rewriter.replaceOpWithNewOp<EmbeddingGradOp>(add, op.getType(), op.getIds(), op.getGradient(),
                                               other, op.getStart(), op.getRowsAttr(),
                                               op.getPaddingAttr());
  rewriter.eraseOp(op);
  return success();
}

OpOperand *EmbeddingGradOp::getInPlaceOperand(OpResult) {
  return getInto() ? &getOperation()->getOpOperand(2) : nullptr;
}

SmallVector<ReferenceTensor> EmbeddingGradOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result = getInto() ? operands[2] : ReferenceTensor(getType());
  int64_t rows = getType().getDimSize(0), width = getType().getDimSize(1);
  int64_t start = getStart() ? static_cast<int64_t>(operands.back()[0]) : 0;
  for (int64_t i = 0; i < operands[0].getNumElements(); ++i) {
    auto id = static_cast<int64_t>(operands[0][i]);
    if (getPadding() && id == static_cast<int64_t>(*getPadding()))
      continue;
    int64_t row = std::clamp<int64_t>(id - start, 0, rows - 1);
    if (getStart() && row != id - start)
      continue;
    for (int64_t j = 0; j < width; ++j)
      result[row * width + j] += operands[1][i * width + j];
  }
  return {std::move(result)};
}
