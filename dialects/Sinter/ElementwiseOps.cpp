#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace sinter;

SmallVector<ReferenceTensor> sinter::evaluateElementwise(Operation *op,
                                                         ArrayRef<ReferenceTensor> operands) {
  ReferenceTensor result(cast<RankedTensorType>(op->getResult(0).getType()));
  auto formula = cast<ElementwiseOpInterface>(op);
  SmallVector<double> scalars(operands.size());
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    for (auto [scalar, operand] : llvm::zip_equal(scalars, operands))
      scalar = operand[i];
    result[i] = formula.evaluateScalar(scalars);
  }
  result.round();
  return {std::move(result)};
}

/// A constant of the type of `like`, a float or a vector of floats.
static Value constantLike(OpBuilder &builder, Location loc, Value like, double value) {
  TypedAttr attribute = builder.getFloatAttr(getElementTypeOrSelf(like.getType()), value);
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    attribute = DenseElementsAttr::get(vector, attribute);
  return arith::ConstantOp::create(builder, loc, attribute);
}

/// 1 / (1 + e^-x).
static Value buildSigmoid(OpBuilder &builder, Location loc, Value x) {
  Value one = constantLike(builder, loc, x, 1.0);
  Value decay = math::ExpOp::create(builder, loc, arith::NegFOp::create(builder, loc, x));
  return arith::DivFOp::create(builder, loc, one, arith::AddFOp::create(builder, loc, one, decay));
}

static double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value AddOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return arith::AddFOp::create(builder, loc, x[0], x[1]);
}
double AddOp::evaluateScalar(ArrayRef<double> x) { return x[0] + x[1]; }

Value SubOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return arith::SubFOp::create(builder, loc, x[0], x[1]);
}
double SubOp::evaluateScalar(ArrayRef<double> x) { return x[0] - x[1]; }

Value MulOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return arith::MulFOp::create(builder, loc, x[0], x[1]);
}
double MulOp::evaluateScalar(ArrayRef<double> x) { return x[0] * x[1]; }

Value DivOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return arith::DivFOp::create(builder, loc, x[0], x[1]);
}
double DivOp::evaluateScalar(ArrayRef<double> x) { return x[0] / x[1]; }

Value MaximumOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return arith::MaximumFOp::create(builder, loc, x[0], x[1]);
}
double MaximumOp::evaluateScalar(ArrayRef<double> x) {
  return std::isnan(x[0]) || std::isnan(x[1]) ? std::nan("") : std::max(x[0], x[1]);
}

Value MinimumOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return arith::MinimumFOp::create(builder, loc, x[0], x[1]);
}
double MinimumOp::evaluateScalar(ArrayRef<double> x) {
  return std::isnan(x[0]) || std::isnan(x[1]) ? std::nan("") : std::min(x[0], x[1]);
}

Value NegOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return arith::NegFOp::create(builder, loc, x[0]);
}
double NegOp::evaluateScalar(ArrayRef<double> x) { return -x[0]; }

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Value ExpOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return math::ExpOp::create(builder, loc, x[0]);
}
double ExpOp::evaluateScalar(ArrayRef<double> x) { return std::exp(x[0]); }

Value LogOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return math::LogOp::create(builder, loc, x[0]);
}
double LogOp::evaluateScalar(ArrayRef<double> x) { return std::log(x[0]); }

Value SqrtOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return math::SqrtOp::create(builder, loc, x[0]);
}
double SqrtOp::evaluateScalar(ArrayRef<double> x) { return std::sqrt(x[0]); }

// A square root and a division: hardware's approximate rsqrt is not good to the last bits.
Value RsqrtOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  Value root = math::SqrtOp::create(builder, loc, x[0]);
  return arith::DivFOp::create(builder, loc, constantLike(builder, loc, x[0], 1.0), root);
}
double RsqrtOp::evaluateScalar(ArrayRef<double> x) { return 1.0 / std::sqrt(x[0]); }

Value TanhOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return math::TanhOp::create(builder, loc, x[0]);
}
double TanhOp::evaluateScalar(ArrayRef<double> x) { return std::tanh(x[0]); }

Value SigmoidOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return buildSigmoid(builder, loc, x[0]);
}
double SigmoidOp::evaluateScalar(ArrayRef<double> x) { return logistic(x[0]); }

Value ReluOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return arith::MaximumFOp::create(builder, loc, x[0], constantLike(builder, loc, x[0], 0.0));
}
double ReluOp::evaluateScalar(ArrayRef<double> x) { return x[0] < 0 ? 0.0 : x[0]; }

Value SiluOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return arith::MulFOp::create(builder, loc, x[0], buildSigmoid(builder, loc, x[0]));
}
double SiluOp::evaluateScalar(ArrayRef<double> x) { return x[0] * logistic(x[0]); }

static const double kGeluScale = std::sqrt(2.0 / std::numbers::pi);
static constexpr double kGeluCubic = 0.044715;

/// 1 + e^(-2u), u = kGeluScale (x + kGeluCubic x^3), as 1 + 2^(x (a x^2 + b)).
static Value buildGeluDivisor(OpBuilder &builder, Location loc, Value x, Value square) {
  double scale = -2.0 * kGeluScale * std::numbers::log2e;
  Value factor =
      math::FmaOp::create(builder, loc, square, constantLike(builder, loc, x, scale * kGeluCubic),
                          constantLike(builder, loc, x, scale));
  Value exponent = arith::MulFOp::create(builder, loc, x, factor);
  Value decay = math::Exp2Op::create(builder, loc, exponent);
  return arith::AddFOp::create(builder, loc, decay, constantLike(builder, loc, x, 1.0));
}

// The tanh form is x * sigmoid(2u): (1 + tanh u) / 2 is sigmoid(2u), and one exponential is
// cheaper than a tanh.
Value GeluOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  auto constant = [&](double value) { return constantLike(builder, loc, x[0], value); };
  auto mul = [&](Value a, Value b) -> Value { return arith::MulFOp::create(builder, loc, a, b); };
  if (getTanh())
    return arith::DivFOp::create(builder, loc, x[0],
                                 buildGeluDivisor(builder, loc, x[0], mul(x[0], x[0])));
  Value error = math::ErfOp::create(builder, loc, mul(x[0], constant(std::numbers::sqrt2 / 2)));
  return mul(mul(x[0], constant(0.5)), arith::AddFOp::create(builder, loc, error, constant(1.0)));
}
double GeluOp::evaluateScalar(ArrayRef<double> x) {
  if (getTanh())
    return 0.5 * x[0] * (1.0 + std::tanh(kGeluScale * (x[0] + kGeluCubic * x[0] * x[0] * x[0])));
  return 0.5 * x[0] * (1.0 + std::erf(x[0] / std::numbers::sqrt2));
}

LogicalResult SoftcapOp::verify() {
  if (!(getCap().convertToDouble() > 0)) // softcap_c1
    return emitOpError("expected cap to be positive, got ") << getCap().convertToDouble();
  return success();
}
Value SoftcapOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  double cap = getCap().convertToDouble();
  Value scaled =
      arith::MulFOp::create(builder, loc, x[0], constantLike(builder, loc, x[0], 1.0 / cap));
  Value bounded = math::TanhOp::create(builder, loc, scaled);
  return arith::MulFOp::create(builder, loc, bounded, constantLike(builder, loc, x[0], cap));
}
double SoftcapOp::evaluateScalar(ArrayRef<double> x) {
  double cap = getCap().convertToDouble();
  return cap * std::tanh(x[0] / cap);
}

Value WhereFiniteOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  Value magnitude = math::AbsFOp::create(builder, loc, x[0]);
  Value infinity = constantLike(builder, loc, x[0], std::numeric_limits<double>::infinity());
  // Ordered: false for NaN.
  Value isFinite =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, magnitude, infinity);
  return arith::SelectOp::create(builder, loc, isFinite, x[1], x[2]);
}
double WhereFiniteOp::evaluateScalar(ArrayRef<double> x) {
  return std::isfinite(x[0]) ? x[1] : x[2];
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

Value StepOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  Value zero = constantLike(builder, loc, x[0], 0.0), one = constantLike(builder, loc, x[0], 1.0);
  Value above = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, x[0], zero);
  return arith::SelectOp::create(builder, loc, above, one, zero);
}
double StepOp::evaluateScalar(ArrayRef<double> x) { return x[0] > 0 ? 1.0 : 0.0; }

Value RoundOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  return math::RoundEvenOp::create(builder, loc, x[0]);
}
double RoundOp::evaluateScalar(ArrayRef<double> x) {
  return x[0] - std::remainder(x[0], 1.0); // which rounds to even
}

// With s = sigmoid(2u), u as in GeluOp: (1 + tanh u) / 2 = s and 1 - tanh^2 u = 4 s (1 - s).
Value GeluDerivativeOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  auto constant = [&](double value) { return constantLike(builder, loc, x[0], value); };
  auto mul = [&](Value a, Value b) -> Value { return arith::MulFOp::create(builder, loc, a, b); };
  auto add = [&](Value a, Value b) -> Value { return arith::AddFOp::create(builder, loc, a, b); };
  Value square = mul(x[0], x[0]);
  if (getTanh()) {
    auto fma = [&](Value a, Value b, Value c) -> Value {
      return math::FmaOp::create(builder, loc, a, b, c);
    };
    Value divisor = buildGeluDivisor(builder, loc, x[0], square);
    Value s = arith::DivFOp::create(builder, loc, constant(1.0), divisor);
    Value slope = fma(square, constant(6.0 * kGeluCubic * kGeluScale), constant(2.0 * kGeluScale));
    Value bend = mul(s, arith::SubFOp::create(builder, loc, constant(1.0), s));
    return fma(mul(x[0], slope), bend, s);
  }
  Value error = math::ErfOp::create(builder, loc, mul(x[0], constant(std::numbers::sqrt2 / 2)));
  Value area = mul(add(error, constant(1.0)), constant(0.5));
  Value density = mul(math::ExpOp::create(builder, loc, mul(square, constant(-0.5))),
                      constant(std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2));
  return add(area, mul(x[0], density));
}
double GeluDerivativeOp::evaluateScalar(ArrayRef<double> x) {
  if (getTanh()) {
    double t = std::tanh(kGeluScale * (x[0] + kGeluCubic * x[0] * x[0] * x[0]));
    return 0.5 * (1.0 + t) +
           0.5 * x[0] * (1.0 - t * t) * kGeluScale * (1.0 + 3.0 * kGeluCubic * x[0] * x[0]);
  }
  return 0.5 * (1.0 + std::erf(x[0] / std::numbers::sqrt2)) +
         x[0] * std::exp(-0.5 * x[0] * x[0]) / std::sqrt(2.0 * std::numbers::pi);
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : Value();
}

// Kernels compute in f32, so storage types widen on load and narrow on store; what is left for a
// cast between floating-point types is the rounding of a value that is used on.
Value CastOp::emitScalar(OpBuilder &builder, Location loc, ValueRange x) {
  Type from = getElementTypeOrSelf(x[0].getType()), to = getType().getElementType();
  if (to.isInteger(4)) // kept in a byte
    to = builder.getI8Type();
  if (from == to)
    return x[0];
  Type result = to;
  if (auto vector = dyn_cast<VectorType>(x[0].getType()))
    result = vector.clone(to);
  if (isa<IntegerType>(from))
    return arith::SIToFPOp::create(builder, loc, result, x[0]);
  if (isa<IntegerType>(to))
    return arith::FPToSIOp::create(builder, loc, result, x[0]);
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, result, x[0]);
  return arith::TruncFOp::create(builder, loc, result, x[0]);
}
double CastOp::evaluateScalar(ArrayRef<double> x) {
  return isa<IntegerType>(getType().getElementType()) ? std::trunc(x[0]) : x[0];
}
