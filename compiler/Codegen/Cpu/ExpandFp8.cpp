#include "compiler/Codegen/Cpu/ExpandFp8.h"
#include "compiler/Codegen/Cpu/ShapedBuilder.h"

using namespace mlir;
using namespace sinter;

bool sinter::isFp8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(type));
}

namespace {
/// How many bits of f32's mantissa a format lacks, the difference of the exponents' biases, and
/// where its codes of numbers end.
struct Format {
  FloatType type;
  int32_t dropped, bias, last;

  explicit Format(FloatType type)
      : type(type), dropped(isa<Float8E5M2Type>(type) ? 21 : 20),
        bias(isa<Float8E5M2Type>(type) ? 127 - 15 : 127 - 7),
        last(isa<Float8E5M2Type>(type) ? 0x7c : 0x7f) {}

  /// The least number that has an exponent of its own: its bits in f32.
  int32_t getLeastNormal() const { return (bias + 1) << 23; }
  /// Those of the power of two from which on f32 has the steps of smaller numbers.
  int32_t getSteps() const { return (bias + 1 + dropped) << 23; }
};

/// Arithmetic on the bits of f32 and fp8.
struct BitBuilder : ShapedBuilder {
  using ShapedBuilder::ShapedBuilder;

  Value number(float value) { return constant(getF32FloatAttr(value)); }
  Value add(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value bitAnd(Value a, Value b) { return arith::AndIOp::create(*this, a, b); }
  Value shiftRight(Value a, int32_t bits) {
    return arith::ShRUIOp::create(*this, a, integer(bits));
  }

  // Numbers from the least normal one on (2^-6 of e4m3) keep the upper bits of their mantissa and
  // get another bias of the exponent. Below it fp8 has equal steps (2^-9), which are those of f32
  // from some power of two on (2^14): a sum with it rounds to them, and leaves how many they are in
  // its low bits.
  Value narrow(Value x, const Format &format) {
    Type i32 = getI32Type();
    Value bits = bitcast(i32, x);
    Value sign = bitAnd(shiftRight(bits, 24), integer(0x80));
    Value magnitude = bitAnd(bits, integer(0x7fffffff));
    Value odd = bitAnd(shiftRight(magnitude, format.dropped), integer(1));
    Value half = integer((1 << (format.dropped - 1)) - 1);
    Value rounded = shiftRight(add(add(magnitude, half), odd), format.dropped);
    Value normal = add(rounded, integer(-(format.bias << (23 - format.dropped))));
    Value steps = arith::AddFOp::create(*this, bitcast(getF32Type(), magnitude),
                                        bitcast(getF32Type(), integer(format.getSteps())));
    Value subnormal = arith::SubIOp::create(*this, bitcast(i32, steps), integer(format.getSteps()));
    Value isSmall = arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, magnitude,
                                          integer(format.getLeastNormal()));
    Value code = arith::SelectOp::create(*this, isSmall, subnormal, normal);
    code = arith::MinSIOp::create(*this, code, integer(format.last));
    if (format.last < 0x7f) { // what is behind infinity is NaN
      Value isNan =
          arith::CmpIOp::create(*this, arith::CmpIPredicate::sgt, magnitude, integer(0x7f800000));
      code = arith::SelectOp::create(*this, isNan, integer(0x7e), code);
    }
    code = arith::TruncIOp::create(*this, withElement(getI8Type()),
                                   arith::OrIOp::create(*this, code, sign));
    return bitcast(format.type, code);
  }

  // The bits of e5m2 are an f16's upper half. Those of e4m3 are an f16's but for the bias,
  // subnormal ones too: a shift, and 2^8.
  Value widen(Value x, const Format &format) {
    Type i16 = getI16Type();
    Value bits = arith::ExtSIOp::create(*this, withElement(i16), bitcast(getI8Type(), x));
    if (isa<Float8E5M2Type>(format.type)) {
      bits = arith::ShLIOp::create(*this, bits, constant(getI16IntegerAttr(8)));
      return arith::ExtFOp::create(*this, withElement(getF32Type()), bitcast(getF16Type(), bits));
    }
    bits = arith::ShLIOp::create(*this, bits, constant(getI16IntegerAttr(7)));
    bits = bitAnd(bits, constant(getI16IntegerAttr(static_cast<int16_t>(0xbf80))));
    Value half =
        arith::ExtFOp::create(*this, withElement(getF32Type()), bitcast(getF16Type(), bits));
    return arith::MulFOp::create(*this, half, number(256.0f));
  }
};

struct ExpandTruncF : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!isFp8(op.getType()) || !getElementTypeOrSelf(op.getIn().getType()).isF32())
      return rewriter.notifyMatchFailure(op, "expected f32 to fp8");
    Format format(cast<FloatType>(getElementTypeOrSelf(op.getType())));
    rewriter.replaceOp(op,
                       BitBuilder(op.getLoc(), rewriter, op.getType()).narrow(op.getIn(), format));
    return success();
  }
};

struct ExpandExtF : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!isFp8(op.getIn().getType()) || !getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "expected fp8 to f32");
    Format format(cast<FloatType>(getElementTypeOrSelf(op.getIn().getType())));
    rewriter.replaceOp(op,
                       BitBuilder(op.getLoc(), rewriter, op.getType()).widen(op.getIn(), format));
    return success();
  }
};
} // namespace

void sinter::populateExpandFp8Patterns(RewritePatternSet &patterns) {
  patterns.add<ExpandTruncF, ExpandExtF>(patterns.getContext());
}
