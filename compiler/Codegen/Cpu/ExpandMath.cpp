#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Cpu/ShapedBuilder.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sinter {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "compiler/Codegen/Cpu/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
/// Arithmetic on values of one type, a float or a vector of floats.
struct FloatBuilder : ShapedBuilder {
  using ShapedBuilder::ShapedBuilder;

  Value number(double value) {
    return constant(getFloatAttr(getElementTypeOrSelf(getShapedType()), value));
  }
  Value mul(Value a, Value b) { return arith::MulFOp::create(*this, a, b); }
  Value add(Value a, Value b) { return arith::AddFOp::create(*this, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(*this, a, b); }
  /// a * b + c, rounded once.
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(*this, a, b, c); }
  Value selectIf(arith::CmpFPredicate predicate, Value a, Value b, Value yes, Value no) {
    return arith::SelectOp::create(*this, arith::CmpFOp::create(*this, predicate, a, b), yes, no);
  }

  /// The polynomial with these coefficients, the highest power's first.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value result = number(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      result = fma(result, x, number(coefficient));
    return result;
  }

  /// e^x to a unit in the last place: 0 below -87, infinity above the largest float's logarithm.
  Value exp(Value x) {
    // Beyond these all is infinity, and all is 0. A NaN stays what it is.
    Value top = number(89.0), bottom = number(-87.3);
    Value bounded = selectIf(arith::CmpFPredicate::OLT, top, x, top, x);
    bounded = selectIf(arith::CmpFPredicate::OGT, bottom, bounded, bottom, bounded);
    // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits; with 126 more, in those
    // of the exponent of 2^(n - 1) once they are shifted there.
    Value magic = number(12582912.0 + 126.0);
    Value shifted = fma(bounded, number(1.44269504088896341), magic);
    Value n = sub(shifted, magic);
    Value r = fma(n, number(-0.693359375), bounded);
    r = fma(n, number(2.12194440e-4), r);
    // By pairs of coefficients (Estrin), as kernels wait for this chain more than for its
    // operations.
    Value square = mul(r, r);
    Value high = polynomial(r, {1.9875691500e-4, 1.3981999507e-3});
    Value middle = polynomial(r, {8.3334519073e-3, 4.1665795894e-2});
    Value low = polynomial(r, {1.6666665459e-1, 5.0000001201e-1});
    Value p = fma(fma(high, square, middle), square, low);
    p = add(fma(p, square, r), number(1.0));
    // Doubled at the end: 2^128 is no float, e^88.7 is.
    Value bits = arith::ShLIOp::create(*this, bitcast(getI32Type(), shifted), integer(23));
    Value y = mul(p, bitcast(getF32Type(), bits));
    return add(y, y);
  }

  /// 2^x to a unit in the last place: 0 from -127 down, infinity from 128 up; results below the
  /// smallest normal number are not exact.
  Value exp2(Value x) {
    // What the bounds become is +0 and infinity, as n is added to the exponent of 1. A NaN stays
    // what it is.
    Value top = number(128.0), bottom = number(-127.0);
    Value bounded = selectIf(arith::CmpFPredicate::OLT, top, x, top, x);
    bounded = selectIf(arith::CmpFPredicate::OGT, bottom, bounded, bottom, bounded);
    // x = n + f, |f| <= 1/2: adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
    Value magic = number(12582912.0);
    Value shifted = add(bounded, magic);
    Value f = sub(bounded, sub(shifted, magic));
    // 2^f by Chebyshev interpolation on [-1/2, 1/2], to 2.6e-9 before rounding.
    Value p =
        polynomial(f, {1.5461444684223565e-4, 1.3400428177186533e-3, 9.618056678579819e-3,
                       5.550327226671287e-2, 2.4022650922288566e-1, 6.931472067028323e-1, 1.0});
    Type i32 = getI32Type();
    Value exponent = arith::ShLIOp::create(*this, bitcast(i32, shifted), integer(23));
    return bitcast(getF32Type(), arith::AddIOp::create(*this, bitcast(i32, p), exponent));
  }

  /// ln x to two units in the last place, subnormals too: x = 2^e * m with m in [sqrt(1/2), sqrt 2)
  /// and ln m a polynomial (the Cephes library's).
  Value log(Value x) {
    Type i32 = getI32Type();
    Value small =
        arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT, x, number(1.17549435e-38));
    Value normal = arith::SelectOp::create(*this, small, mul(x, number(8388608.0)), x);
    // The bits of sqrt(1/2) taken off, the exponent field is e, and what is left of it is m.
    Value bits = bitcast(i32, normal);
    Value shifted = arith::SubIOp::create(*this, bits, integer(0x3F3504F3));
    Value exponent = arith::ShRSIOp::create(*this, shifted, integer(23));
    Value power = arith::ShLIOp::create(*this, exponent, integer(23));
    Value m = bitcast(getF32Type(), arith::SubIOp::create(*this, bits, power));
    Value e = arith::SIToFPOp::create(*this, getShapedType(), exponent);
    e = arith::SelectOp::create(*this, small, sub(e, number(23.0)), e);
    Value f = sub(m, number(1.0)), square = mul(f, f);
    Value p = polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1,
                             1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
                             3.3333331174e-1});
    Value y = mul(mul(f, square), p);
    y = fma(e, number(-2.12194440e-4), y);
    y = fma(square, number(-0.5), y);
    y = fma(e, number(0.693359375), add(f, y));
    y = selectIf(arith::CmpFPredicate::OEQ, x, number(HUGE_VAL), x, y);
    y = selectIf(arith::CmpFPredicate::OEQ, x, number(0.0), number(-HUGE_VAL), y);
    return selectIf(arith::CmpFPredicate::UGE, x, number(0.0),
                    selectIf(arith::CmpFPredicate::UNO, x, x, x, y), number(NAN));
  }
};

/// A function of f32 becomes what a method of FloatBuilder builds.
template <typename Op, Value (FloatBuilder::*build)(Value)> struct Expand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "expected f32");
    FloatBuilder builder(op.getLoc(), rewriter, op.getType());
    rewriter.replaceOp(op, (builder.*build)(op.getOperand()));
    return success();
  }
};

struct ExpandMathPass : sinter::impl::ExpandMathPassBase<ExpandMathPass> {
  using ExpandMathPassBase::ExpandMathPassBase;

  void runOnOperation() override {
    ModuleOp kernels = lookupKernels(getOperation());
    if (!kernels)
      return markAllAnalysesPreserved();
    RewritePatternSet patterns(&getContext());
    patterns.add<Expand<math::ExpOp, &FloatBuilder::exp>, Expand<math::Exp2Op, &FloatBuilder::exp2>,
                 Expand<math::LogOp, &FloatBuilder::log>>(&getContext(), /*benefit=*/2);
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name != "math.exp" && name != "math.exp2" && name != "math.log";
    });
    // Folding everything around them would take longer than expanding them. A rounding folds where
    // unrolling has put it behind the widening of the same number.
    SmallVector<Operation *> ops;
    kernels.walk([&](Operation *op) {
      if (isa_and_nonnull<math::MathDialect>(op->getDialect()) || isa<arith::TruncFOp>(op))
        ops.push_back(op);
    });
    if (failed(applyOpPatternsGreedily(ops, std::move(patterns))))
      return signalPassFailure();
    WalkResult left = kernels.walk([](Operation *op) {
      if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
          isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp,
              math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op))
        return WalkResult::advance();
      op->emitError("expected a function of f32 that has a polynomial");
      return WalkResult::interrupt();
    });
    if (left.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
