#include "dialects/Sinter/SinterDialect.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

/// Whether all are scalars with the elements of `like`.
static bool areScalarsOf(RankedTensorType like, ArrayRef<Value> scalars) {
  Type scalar = RankedTensorType::get({}, like.getElementType());
  return llvm::all_of(scalars, [&](Value value) { return value.getType() == scalar; });
}

static bool isDecayRate(APFloat rate) {
  return rate.convertToDouble() >= 0 && rate.convertToDouble() < 1;
}

/// Whether an optional value is absent or of the type.
static bool isAbsentOr(Value value, Type type) { return !value || value.getType() == type; }

/// Whether state of this type may be held for a parameter: its own type, or bf16 instead of f32.
static bool mayBeState(RankedTensorType state, RankedTensorType parameter) {
  return state == parameter || (parameter.getElementType().isF32() &&
                                state == parameter.clone(BFloat16Type::get(state.getContext())));
}

namespace {
/// Builds formulas over tensors of one type and over scalars of its elements.
struct UpdateBuilder {
  OpBuilder &builder;
  Location loc;
  RankedTensorType type;

  Value add(Value a, Value b) { return AddOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return SubOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return MulOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return DivOp::create(builder, loc, a, b); }
  Value sqrt(Value a) { return SqrtOp::create(builder, loc, a); }

  /// A number, of the rank of `like`.
  Value constant(Value like, double value) {
    return ConstantOp::create(builder, loc, cast<RankedTensorType>(like.getType()), value);
  }
  Value scaled(double factor, Value value) { return mul(value, constant(value, factor)); }

  /// In another element type, rounded to nearest even; itself if it has that already.
  Value cast(Value value, Type element) {
    auto from = mlir::cast<RankedTensorType>(value.getType());
    if (from.getElementType() == element)
      return value;
    return CastOp::create(builder, loc, from.clone(element), value);
  }
  /// State as it is computed with, and as it is held like `state`.
  Value widen(Value state) { return cast(state, type.getElementType()); }
  Value narrow(Value value, Value state) { return cast(value, getElementTypeOrSelf(state)); }

  /// A scalar everywhere.
  Value spread(Value scalar) {
    return BroadcastOp::create(builder, loc, type, scalar, ArrayRef<int64_t>{});
  }
  /// `next` if the scalar is finite, else `before`.
  Value guard(Value scalar, Value next, Value before) {
    return WhereFiniteOp::create(builder, loc, spread(scalar), next, before);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// AdamWOp
//===----------------------------------------------------------------------===//

int64_t AdamWOp::getFlops() { return 16 * getParameter().getType().getNumElements(); }

LogicalResult AdamWOp::verify() {
  RankedTensorType type = getParameter().getType();
  if (!areScalarsOf(type, {getScale(), getLearningRate(), getBiasCorrection1(),
                           getBiasCorrection2()})) // adamw_c1
    return emitOpError("expected scalars of the parameter's element type, got ")
           << getScale().getType();
  if (!isDecayRate(getBeta1()) || !isDecayRate(getBeta2()) || getEps().isNegative() ||
      getWeightDecay().isNegative()) // adamw_c2
    return emitOpError("expected betas in [0, 1) and neither a negative eps nor weight decay");
  if (!isAbsentOr(getCleared(), type)) // adamw_c3
    return emitOpError("expected cleared to have the gradient's type, got ")
           << getCleared().getType();
  if (!mayBeState(getM().getType(), type)) // adamw_c4
    return emitOpError("expected m and v of the parameter's type, or in bf16 instead of f32, got ")
           << getM().getType();
  auto words = RankedTensorType::get({2}, IntegerType::get(getContext(), 32));
  SmallVector<Type> random(getM().getType() == type ? 0 : 2, words);
  if (getRandom().getTypes() != TypeRange(random)) // adamw_c5
    return emitOpError("expected a seed and a tag of type ")
           << words << " exactly where m and v are narrower than the parameter";
  return success();
}

OpOperand *AdamWOp::getInPlaceOperand(OpResult result) {
  OpOperand *replaced[] = {&getParameterMutable(), &getMMutable(), &getVMutable(),
                           &getGradientMutable()};
  return replaced[result.getResultNumber()];
}

// The order of operations is PyTorch's, so that both round alike.
SmallVector<Value> AdamWOp::decompose(OpBuilder &builder) {
  UpdateBuilder b{builder, getLoc(), getParameter().getType()};
  double beta1 = getBeta1().convertToDouble(), beta2 = getBeta2().convertToDouble();
  Value rate = getLearningRate();
  Value oldM = b.widen(getM()), oldV = b.widen(getV());
  Value g = b.mul(getGradient(), b.spread(getScale()));
  Value m = b.add(oldM, b.scaled(1 - beta1, b.sub(g, oldM)));
  Value v = b.add(b.scaled(beta2, oldV), b.scaled(1 - beta2, b.mul(g, g)));
  Value unbias = b.div(b.constant(rate, 1.0), b.sqrt(getBiasCorrection2()));
  Value root = b.mul(b.sqrt(v), b.spread(unbias));
  Value denominator = b.add(root, b.constant(root, getEps().convertToDouble()));
  Value step = b.mul(b.div(m, denominator), b.spread(b.div(rate, getBiasCorrection1())));
  Value kept = getParameter();
  if (double decay = getWeightDecay().convertToDouble(); decay > 0)
    kept = b.mul(kept, b.spread(b.sub(b.constant(rate, 1.0), b.scaled(decay, rate))));
  SmallVector<Value> results = {b.guard(getScale(), b.sub(kept, step), getParameter()),
                                b.narrow(b.guard(getScale(), m, oldM), getM()),
                                b.guard(getScale(), v, oldV)};
  // A state that nothing was added to is a number of bf16, which rounding leaves alone.
  if (!getRandom().empty())
    results[2] = StochasticRoundOp::create(builder, getLoc(), getV().getType(), results[2],
                                           getRandom()[0], getRandom()[1]);
  if (getCleared())
    results.push_back(b.constant(getGradient(), 0.0));
  return results;
}

SmallVector<ReferenceTensor> AdamWOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  double beta1 = getBeta1().convertToDouble(), beta2 = getBeta2().convertToDouble();
  double eps = getEps().convertToDouble(), decay = getWeightDecay().convertToDouble();
  double scale = operands[4][0], rate = operands[5][0];
  double correction1 = operands[6][0], correction2 = operands[7][0];
  SmallVector<ReferenceTensor> results = {operands[0], operands[2], operands[3]};
  for (int64_t i = 0; i < operands[0].getNumElements() && std::isfinite(scale); ++i) {
    double &p = results[0][i], &m = results[1][i], &v = results[2][i];
    double g = scale * operands[1][i];
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    p -= rate * (m / correction1 / (std::sqrt(v / correction2) + eps) + decay * p);
  }
  if (!getRandom().empty())
    roundStochastically(results[2], operands[8], operands[9]);
  for (ReferenceTensor &result : results)
    result.round();
  if (getCleared())
    results.emplace_back(getGradient().getType());
  return results;
}

//===----------------------------------------------------------------------===//
// SgdOp
//===----------------------------------------------------------------------===//

int64_t SgdOp::getFlops() {
  return (getVelocity() ? 7 : 5) * getParameter().getType().getNumElements();
}

LogicalResult SgdOp::verify() {
  RankedTensorType type = getParameter().getType();
  if (!areScalarsOf(type, {getScale(), getLearningRate()})) // sgd_c1
    return emitOpError("expected scalars of the parameter's element type, got ")
           << getScale().getType();
  if (!isDecayRate(getMomentum()) || getWeightDecay().isNegative()) // sgd_c2
    return emitOpError("expected a momentum in [0, 1) and no negative weight decay");
  if (!isAbsentOr(getCleared(), type)) // sgd_c3
    return emitOpError("expected cleared to have the gradient's type, got ")
           << getCleared().getType();
  TypedValue<RankedTensorType> velocity = getVelocity();
  if (!velocity != !getNextVelocity() ||
      (velocity && (!mayBeState(velocity.getType(), type) ||
                    velocity.getType() != getNextVelocity().getType())) ||
      (!velocity && (getNesterov() || !getMomentum().isZero()))) // sgd_c4
    return emitOpError(
        "expected a velocity of the parameter's type, or in bf16 instead of f32, and "
        "its next value, where there is momentum");
  return success();
}

OpOperand *SgdOp::getInPlaceOperand(OpResult result) {
  if (result == getNextParameter())
    return &getParameterMutable();
  if (result == getNextVelocity())
    return &*getVelocityMutable().begin();
  return &getGradientMutable();
}

SmallVector<Value> SgdOp::decompose(OpBuilder &builder) {
  UpdateBuilder b{builder, getLoc(), getParameter().getType()};
  double momentum = getMomentum().convertToDouble();
  Value g = b.mul(getGradient(), b.spread(getScale()));
  if (double decay = getWeightDecay().convertToDouble(); decay > 0)
    g = b.add(g, b.scaled(decay, getParameter()));
  Value v, oldV, step = g;
  if (getVelocity()) {
    oldV = b.widen(getVelocity());
    v = b.add(b.scaled(momentum, oldV), g);
    step = getNesterov() ? b.add(g, b.scaled(momentum, v)) : v;
  }
  Value moved = b.sub(getParameter(), b.mul(step, b.spread(getLearningRate())));
  SmallVector<Value> results = {b.guard(getScale(), moved, getParameter())};
  if (v)
    results.push_back(b.narrow(b.guard(getScale(), v, oldV), getVelocity()));
  if (getCleared())
    results.push_back(b.constant(getGradient(), 0.0));
  return results;
}

SmallVector<ReferenceTensor> SgdOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  double momentum = getMomentum().convertToDouble(), decay = getWeightDecay().convertToDouble();
  double scale = operands[2][0], rate = operands[3][0];
  SmallVector<ReferenceTensor> results = {operands[0]};
  if (getVelocity())
    results.push_back(operands[4]);
  for (int64_t i = 0; i < operands[0].getNumElements() && std::isfinite(scale); ++i) {
    double &p = results[0][i];
    double g = scale * operands[1][i] + decay * p, step = g;
    if (getVelocity()) {
      double &v = results[1][i];
      v = momentum * v + g;
      step = getNesterov() ? g + momentum * v : v;
    }
    p -= rate * step;
  }
  for (ReferenceTensor &result : results)
    result.round();
  if (getCleared())
    results.emplace_back(getGradient().getType());
  return results;
}

//===----------------------------------------------------------------------===//
// SquareSumOp
//===----------------------------------------------------------------------===//

int64_t SquareSumOp::getFlops() { return 2 * getOperand().getType().getNumElements(); }

LogicalResult SquareSumOp::verify() {
  RankedTensorType operand = getOperand().getType();
  if (operand.getRank() < 1 || getType().getShape() != operand.getShape().drop_back() ||
      getType().getElementType() != operand.getElementType()) // square_sum_c1
    return emitOpError("expected the operand's type without its last dimension, got ")
           << operand << " -> " << getType();
  if (!isAbsentOr(getInto(), getType())) // square_sum_c2
    return emitOpError("expected into to have the result's type, got ") << getInto().getType();
  return success();
}

OpOperand *SquareSumOp::getInPlaceOperand(OpResult) {
  return getInto() ? &*getIntoMutable().begin() : nullptr;
}

SmallVector<Value> SquareSumOp::decompose(OpBuilder &builder) {
  Value squares = MulOp::create(builder, getLoc(), getOperand(), getOperand());
  Value sum = ReduceOp::create(builder, getLoc(), getType(), squares, ReductionKind::Sum);
  return {getInto() ? AddOp::create(builder, getLoc(), getInto(), sum).getResult() : sum};
}

SmallVector<ReferenceTensor> SquareSumOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(getType());
  int64_t width = operands[0].getShape().back();
  for (int64_t row = 0; row < result.getNumElements(); ++row) {
    result[row] = getInto() ? operands[1][row] : 0.0;
    for (double x : operands[0].data().slice(row * width, width))
      result[row] += x * x;
  }
  result.round();
  return {std::move(result)};
}

//===----------------------------------------------------------------------===//
// CarryOp
//===----------------------------------------------------------------------===//

int64_t CarryOp::getFlops() { return getSum().getType().getNumElements(); }

OpOperand *CarryOp::getInPlaceOperand(OpResult result) {
  return result == getNextSum() ? &getSumMutable() : &getTermMutable();
}

SmallVector<Value> CarryOp::decompose(OpBuilder &builder) {
  Value sum = AddOp::create(builder, getLoc(), getSum(), getTerm());
  return {sum, ConstantOp::create(builder, getLoc(), getTerm().getType(), 0.0)};
}

SmallVector<ReferenceTensor> CarryOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor sum(getNextSum().getType()), cleared(getCleared().getType());
  for (int64_t i = 0; i < sum.getNumElements(); ++i) {
    sum[i] = operands[0][i] + operands[1][i];
    cleared[i] = 0;
  }
  sum.round();
  return {std::move(sum), std::move(cleared)};
}
