#include "compiler/Codegen/Cpu/ExpandE4M3.h"
#include "compiler/Codegen/Cpu/ShapedBuilder.h"

using namespace mlir;
using namespace sinter;

bool sinter::isE4M3(Type type) { return isa<Float8E4M3FNType>(getElementTypeOrSelf(type)); }

namespace {
/// Arithmetic on the bits of f32 and e4m3.
struct BitBuilder : ShapedBuilder {
  using ShapedBuilder::ShapedBuilder;

  Value number(float value) { return constant(getF32FloatAttr(value)); }
  Value add(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value bitAnd(Value a, Value b) { return arith::AndIOp::create(*this, a, b); }
  Value shiftRight(Value a, int32_t bits) {
    return arith::ShRUIOp::create(*this, a, integer(bits));
  }

  // Numbers from 2^-6 on keep the upper three bits of their mantissa and get another bias of the
  // exponent. Below it e4m3 has steps of 2^-9, which are those of f32 from 2^14 on: a sum with it
  // rounds to them, and leaves how many they are in its low bits.
  Value narrow(Value x) {
    Type i32 = getI32Type();
    Value bits = bitcast(i32, x);
    Value sign = bitAnd(shiftRight(bits, 24), integer(0x80));
    Value magnitude = bitAnd(bits, integer(0x7fffffff));
    Value odd = bitAnd(shiftRight(magnitude, 20), integer(1));
    Value rounded = shiftRight(add(add(magnitude, integer(0x7ffff)), odd), 20);
    Value normal = add(rounded, integer(-(127 - 7) * 8));
    Value steps = arith::AddFOp::create(*this, bitcast(getF32Type(), magnitude), number(16384.0f));
    Value subnormal = arith::SubIOp::create(*this, bitcast(i32, steps), integer(0x46800000));
    Value isSmall = arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, magnitude,
                                          integer(0x3c800000)); // 2^-6
    Value code = arith::SelectOp::create(*this, isSmall, subnormal, normal);
    code = arith::MinSIOp::create(*this, code, integer(0x7f));
    code = arith::TruncIOp::create(*this, withElement(getI8Type()),
                                   arith::OrIOp::create(*this, code, sign));
    return bitcast(Float8E4M3FNType::get(getContext()), code);
  }

  // The bits of e4m3 are those of an f16 but for the bias, subnormal ones too: a shift, and 2^8.
  Value widen(Value x) {
    Type i16 = getI16Type();
    Value bits = arith::ExtSIOp::create(*this, withElement(i16), bitcast(getI8Type(), x));
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
    if (!isE4M3(op.getType()) || !getElementTypeOrSelf(op.getIn().getType()).isF32())
      return rewriter.notifyMatchFailure(op, "expected f32 to f8E4M3FN");
    rewriter.replaceOp(op, BitBuilder(op.getLoc(), rewriter, op.getType()).narrow(op.getIn()));
    return success();
  }
};

struct ExpandExtF : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!isE4M3(op.getIn().getType()) || !getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "expected f8E4M3FN to f32");
    rewriter.replaceOp(op, BitBuilder(op.getLoc(), rewriter, op.getType()).widen(op.getIn()));
    return success();
  }
};
} // namespace

void sinter::populateExpandE4M3Patterns(RewritePatternSet &patterns) {
  patterns.add<ExpandTruncF, ExpandExtF>(patterns.getContext());
}
