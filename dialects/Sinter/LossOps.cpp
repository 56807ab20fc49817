#include "dialects/Sinter/AdjointBuilder.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

int64_t LinearCrossEntropyOp::getClasses() {
  return getWeight().getType().getDimSize(getTransposeWeight() ? 0 : 1);
}

int64_t LinearCrossEntropyOp::getFlops() {
  return 2 * getHidden().getType().getNumElements() * getClasses();
}
FusionRole LinearCrossEntropyOp::getFusionRole() { return FusionRole::Opaque; }

LogicalResult LinearCrossEntropyOp::verify() {
  RankedTensorType hidden = getHidden().getType(), weight = getWeight().getType();
  ArrayRef<int64_t> rows = hidden.getShape().take_front(1);
  if (hidden.getRank() != 2 || getTargets().getType().getShape() != rows ||
      getType() != hidden.clone(rows)) // linear_cross_entropy_c1
    return emitOpError("expected hidden [n, d], targets [n] and a result [n], got ")
           << hidden << ", " << getTargets().getType() << " -> " << getType();
  if (weight.getRank() != 2 ||
      weight.getDimSize(getTransposeWeight() ? 1 : 0) != hidden.getDimSize(1) ||
      (getBias() && getBias().getType().getShape() !=
                        ArrayRef<int64_t>(getClasses()))) // linear_cross_entropy_c2
    return emitOpError("expected a weight of hidden's width and a bias of the classes, got ")
           << weight;
  if (getChunk() <= 0) // linear_cross_entropy_c3
    return emitOpError("expected chunk to be positive, got ") << getChunk();
  if (getSoftcap() && !(getSoftcap()->convertToDouble() > 0)) // linear_cross_entropy_c4
    return emitOpError("expected softcap to be positive");
  if (getZLoss().convertToDouble() < 0) // linear_cross_entropy_c5
    return emitOpError("expected z_loss not to be negative");
  return success();
}

SmallVector<ReferenceTensor> LinearCrossEntropyOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  const ReferenceTensor &hidden = operands[0], &weight = operands[1], &targets = operands.back();
  int64_t width = hidden.getShape()[1], classes = getClasses();
  std::vector<double> logits(classes);
  for (int64_t row = 0; row < result.getNumElements(); ++row) {
    auto target = static_cast<int64_t>(targets[row]);
    if (target < 0 || target >= classes)
      continue;
    double largest = -HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < classes; ++j) {
      double logit = getBias() ? operands[2][j] : 0.0;
      for (int64_t i = 0; i < width; ++i)
        logit += hidden[row * width + i] *
                 weight[getTransposeWeight() ? j * width + i : i * classes + j];
      if (getSoftcap())
        logit =
            getSoftcap()->convertToDouble() * std::tanh(logit / getSoftcap()->convertToDouble());
      logits[j] = logit;
      largest = std::max(largest, logit);
    }
    for (double logit : logits)
      sum += std::exp(logit - largest);
    double logSum = largest + std::log(sum);
    result[row] = logSum - logits[target] + getZLoss().convertToDouble() * logSum * logSum;
  }
  result.round();
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// Blocks of rows
//===----------------------------------------------------------------------===//

namespace {
/// Writes out a block of rows after the other: the loss, and the gradients where they are wanted.
class ChunkBuilder {
public:
  ChunkBuilder(LinearCrossEntropyOp op, OpBuilder &builder, Location loc)
      : op(op), builder(builder), loc(loc), build(builder, loc) {}

  /// @param gradient of the result, `[n]`, or null for the loss alone.
  void run(Value gradient, bool wantsHidden, bool wantsWeight, bool wantsBias) {
    int64_t rows = op.getHidden().getType().getDimSize(0),
            width = op.getHidden().getType().getDimSize(1), step = op.getChunk();
    for (int64_t row = 0; row < rows; row += step) {
      int64_t count = std::min(step, rows - row);
      Value hidden = build.slice(op.getHidden(), {row, 0}, {count, width});
      Value targets = build.slice(op.getTargets(), row, count);
      Value logits = buildLogits(hidden, count);
      losses.push_back(CrossEntropyOp::create(builder, loc, op.getType().clone({count}), logits,
                                              targets, op.getZLossAttr()));
      if (!gradient)
        continue;
      Value step = CrossEntropyGradOp::create(builder, loc, logits.getType(), logits, targets,
                                              build.slice(gradient, row, count), op.getZLossAttr());
      if (op.getSoftcap())
        step = build.mul(step, buildSoftcapSlope(logits));
      if (wantsHidden)
        hiddenGradients.push_back(MatmulOp::create(builder, loc, hidden.getType(), step,
                                                   op.getWeight(), !op.getTransposeWeight(),
                                                   /*transpose_lhs=*/false));
      if (wantsWeight)
        accumulate(weightGradient, op.getTransposeWeight() ? multiplyRows(step, hidden)
                                                           : multiplyRows(hidden, step));
      if (wantsBias)
        accumulate(biasGradient, build.sumRows(step));
    }
  }

  Value getLoss() { return build.concat(losses, 0); }
  Value getHiddenGradient() { return build.concat(hiddenGradients, 0); }
  Value getWeightGradient() { return weightGradient; }
  Value getBiasGradient() { return biasGradient; }

private:
  Value buildLogits(Value hidden, int64_t count) {
    RankedTensorType type = op.getHidden().getType().clone({count, op.getClasses()});
    Value logits = MatmulOp::create(builder, loc, type, hidden, op.getWeight(),
                                    op.getTransposeWeight(), /*transpose_lhs=*/false);
    if (op.getBias())
      logits = build.add(
          logits, BroadcastOp::create(builder, loc, type, op.getBias(), ArrayRef<int64_t>{1}));
    if (op.getSoftcap())
      logits = SoftcapOp::create(builder, loc, type, logits, op.getSoftcapAttr());
    return logits;
  }

  /// The derivative of the soft cap by its result: 1 - (y / cap)^2.
  Value buildSoftcapSlope(Value logits) {
    double cap = op.getSoftcap()->convertToDouble();
    auto type = cast<RankedTensorType>(logits.getType());
    Value square = build.scale(build.mul(logits, logits), 1.0 / (cap * cap));
    return build.sub(build.splat(type.getShape(), type.getElementType(), 1.0), square);
  }

  /// lhs^T . rhs, summed over rows.
  Value multiplyRows(Value lhs, Value rhs) {
    return MatmulOp::create(builder, loc, op.getWeight().getType(), lhs, rhs,
                            /*transpose_rhs=*/false, /*transpose_lhs=*/true);
  }

  void accumulate(Value &sum, Value part) { sum = sum ? build.add(part, sum) : part; }

  LinearCrossEntropyOp op;
  OpBuilder &builder;
  Location loc;
  AdjointBuilder build;
  SmallVector<Value> losses, hiddenGradients;
  Value weightGradient, biasGradient;
};

/// Whether a value is computed from another, directly or not.
bool dependsOn(Value value, Value source) {
  SetVector<Value> open;
  open.insert(value);
  for (size_t i = 0; i < open.size(); ++i) {
    if (open[i] == source)
      return true;
    if (Operation *op = open[i].getDefiningOp())
      open.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}
} // namespace

void LinearCrossEntropyOp::expand(OpBuilder &builder) {
  builder.setInsertionPoint(*this);
  ChunkBuilder chunks(*this, builder, getLoc());
  chunks.run(nullptr, false, false, false);
  getResult().replaceAllUsesWith(chunks.getLoss());
}

// The losses of the blocks replace the op's result, so that logits are computed once. Uses of it
// stand before the adjoint then: Differentiate sorts.
void LinearCrossEntropyOp::buildAdjoint(Adjoint &adjoint) {
  Value gradient = adjoint.getGradient(getResult());
  ChunkBuilder chunks(*this, adjoint.getBuilder(), adjoint.getLoc());
  bool wantsBias = getBias() && adjoint.isNeeded(getBias());
  chunks.run(gradient, adjoint.isNeeded(getHidden()), adjoint.isNeeded(getWeight()), wantsBias);
  if (adjoint.isNeeded(getHidden()))
    adjoint.add(getHidden(), chunks.getHiddenGradient());
  if (adjoint.isNeeded(getWeight()))
    adjoint.add(getWeight(), chunks.getWeightGradient());
  if (wantsBias)
    adjoint.add(getBias(), chunks.getBiasGradient());
  // A gradient that is computed from the loss itself leaves the op where it is.
  if (!dependsOn(gradient, getResult()))
    getResult().replaceAllUsesWith(chunks.getLoss());
}
