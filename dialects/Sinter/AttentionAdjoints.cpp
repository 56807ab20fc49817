#include "dialects/Sinter/AdjointBuilder.h"

using namespace mlir;
using namespace sinter;

// Dao, "FlashAttention-2", 2023, section 2.3: the rows' log-sum-exp and delta = sum(gradient *
// result) are all that the backward pass needs of the probabilities.
void AttentionOp::buildAdjoint(Adjoint &adjoint) {
  AdjointBuilder build(adjoint);
  Value gradient = adjoint.getGradient(getResult());
  AttentionOp forward = *this;
  RankedTensorType type = getResult().getType();
  auto perRow =
      RankedTensorType::get(type.getShape().drop_back(), Float32Type::get(type.getContext()));
  if (!getLogsumexp()) {
    // The op again, with the second result that inference does not need.
    OpBuilder builder(*this);
    OperationState state(getLoc(), getOperationName(), getOperands(), {type, perRow},
                         (*this)->getAttrs());
    state.propertiesAttr = (*this)->getPropertiesAsAttribute();
    forward = cast<AttentionOp>(builder.create(state));
    getResult().replaceAllUsesWith(forward.getResult());
  }
  Value delta = build.sumColumns(build.mul(gradient, forward.getResult()));
  // The derivative of a log-sum-exp by a score is its weight, too.
  if (getLogsumexp())
    if (Value ofLogsumexp = adjoint.getGradient(getLogsumexp()))
      delta = build.sub(delta, ofLogsumexp);
  OpBuilder &builder = adjoint.getBuilder();
  auto grad = AttentionGradOp::create(
      builder, adjoint.getLoc(), getQuery().getType(), getKey().getType(), getValue().getType(),
      getQuery(), getKey(), getValue(), gradient, forward.getLogsumexp(), delta, getStart(),
      getFirst(), getAlibiSlopes(), getSeed(), getScaleAttr(), getCausalAttr(), getWindowAttr(),
      getSoftcapAttr(), getDropoutAttr(), getStreamAttr(), getWholeAttr());
  adjoint.add(getQuery(), grad.getQueryGradient());
  adjoint.add(getKey(), grad.getKeyGradient());
  adjoint.add(getValue(), grad.getValueGradient());
}

bool LinearAttentionOp::hasAdjoint() { return !getState(); }

void LinearAttentionOp::buildAdjoint(Adjoint &adjoint) {
  OperandRange operands = getOperands();
  SmallVector<Type> types(operands.getTypes());
  auto grad = LinearAttentionGradOp::create(adjoint.getBuilder(), adjoint.getLoc(), types[0],
                                            types[1], types[2], types[3], types[4], getQuery(),
                                            getKey(), getValue(), getDecay(), getBeta(),
                                            adjoint.getGradient(getResult()), getScaleAttr(),
                                            getAdditiveAttr());
  for (auto [operand, gradient] : llvm::zip_equal(operands, grad.getResults()))
    adjoint.add(operand, gradient);
}

// Rotations are orthogonal: the adjoint turns back.
void RotaryOp::buildAdjoint(Adjoint &adjoint) {
  AdjointBuilder build(adjoint);
  Value gradient = adjoint.getGradient(getResult());
  adjoint.add(getOperand(),
              RotaryOp::create(adjoint.getBuilder(), adjoint.getLoc(), getType(), gradient,
                               getCos(), build.neg(getSin()), getStart(), getInterleaved()));
}
