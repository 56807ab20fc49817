#include "compiler/Analysis/Target.h"
#include "compiler/Analysis/WeightValues.h"
#include "compiler/Precision/ForwardProducts.h"
#include "compiler/Precision/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_QUANTIZEPRODUCTSPASS
#include "compiler/Precision/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// What the largest magnitude is taken to be at least, so that nothing is divided by zero.
static constexpr double kLeastMagnitude = 1e-30;

/// What a value is under another shape.
static Value skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

/// The arguments of the entry that a value is computed from.
static SmallVector<BlockArgument> getArguments(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return {argument};
  SmallVector<BlockArgument> arguments;
  for (Value operand : value.getDefiningOp()->getOperands())
    llvm::append_range(arguments, getArguments(operand));
  return arguments;
}

namespace {
/// A value in 8 bits, and the one number, of rank 0, that all of it is multiplied by.
struct Quantized {
  Value numbers, scale;
};

/// Rounds values to fp8, each once in each type.
class Quantizer {
public:
  Quantizer(Location loc, OpBuilder &builder) : loc(loc), builder(builder) {}

  /// @param x a dense value of numbers, of rank 1 at least
  Quantized quantize(Value x, FloatType element) {
    auto type = cast<RankedTensorType>(x.getType()).clone(builder.getF32Type());
    if (x.getType() != type)
      x = CastOp::create(builder, loc, type, x);
    double largest = APFloat::getLargest(element.getFloatSemantics()).convertToDouble();
    Value magnitude = binary<MaximumOp>(reduceMagnitudes(x, type), number(kLeastMagnitude));
    Value scale = binary<MulOp>(magnitude, number(1.0 / largest));
    Value factor = binary<DivOp>(number(largest), magnitude);
    Value scaled = binary<MulOp>(x, spread(factor, type));
    return {CastOp::create(builder, loc, type.clone(element), scaled), scale};
  }
  /// A number for each element.
  Value spread(Value scalar, RankedTensorType type) {
    return BroadcastOp::create(builder, loc, type, scalar, ArrayRef<int64_t>());
  }
  template <typename Op> Value binary(Value a, Value b) {
    return Op::create(builder, loc, a.getType(), a, b);
  }

private:
  /// max |x|, row by row first: rows are of independent work.
  Value reduceMagnitudes(Value x, RankedTensorType type) {
    Value most = binary<MaximumOp>(x, NegOp::create(builder, loc, type, x));
    int64_t width = type.getShape().back();
    most = ReshapeOp::create(builder, loc, f32({type.getNumElements() / width, width}), most);
    most = ReduceOp::create(builder, loc, f32(type.getNumElements() / width), most,
                            ReductionKind::Max);
    return ReduceOp::create(builder, loc, f32({}), most, ReductionKind::Max);
  }
  Value number(double value) { return ConstantOp::create(builder, loc, f32({}), value); }
  RankedTensorType f32(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }

  Location loc;
  OpBuilder &builder;
};

/// The products of an entry, and which of them multiply fp8.
class Products {
public:
  explicit Products(func::FuncOp entry) : entry(entry), weights(findWeightValues(entry)) {
    for (auto matmul : entry.getOps<MatmulOp>())
      if (weights.contains(matmul.getRhs()) &&
          ((getStage(matmul.getLoc()) == Stage::Forward && isLastProduct(matmul)) ||
           makesLogits(matmul) || isTable(matmul.getRhs())))
        refused.insert_range(getArguments(matmul.getRhs()));
    for (auto matmul : entry.getOps<MatmulOp>())
      if (getStage(matmul.getLoc()) == Stage::Backward)
        for (auto [side, other] :
             {std::pair(matmul.getLhs(), matmul.getRhs()), {matmul.getRhs(), matmul.getLhs()}})
          if (isWeight(side))
            gradients.insert(skipReshapes(other));
  }

  /// Whether a product multiplies an activation by a weight of a layer, or either by a gradient.
  bool contains(MatmulOp matmul) const {
    if (matmul.getScales())
      return false;
    switch (getStage(matmul.getLoc())) {
    case Stage::Forward:
    case Stage::Recompute:
      return isWeight(matmul.getRhs());
    case Stage::Backward:
      return isGradient(matmul.getLhs()) || isGradient(matmul.getRhs());
    case Stage::Optimizer:
      return false;
    }
  }

  /// Whether a value is the gradient of such a product's result.
  bool isGradient(Value value) const { return gradients.contains(skipReshapes(value)); }

private:
  bool isWeight(Value value) const {
    if (!weights.contains(value))
      return false;
    SmallVector<BlockArgument> arguments = getArguments(value);
    return !arguments.empty() && // constants are no weights
           llvm::none_of(arguments,
                         [&](BlockArgument argument) { return refused.contains(argument); });
  }

  func::FuncOp entry;
  llvm::DenseSet<Value> weights;
  llvm::SmallPtrSet<Value, 4> refused;
  llvm::DenseSet<Value> gradients;
};

struct QuantizeProductsPass : sinter::impl::QuantizeProductsPassBase<QuantizeProductsPass> {
  using QuantizeProductsPassBase::QuantizeProductsPassBase;

  void runOnOperation() override {
    if (scales != "current") {
      getOperation().emitError("expected scales that are current, got ") << scales.getValue();
      return signalPassFailure();
    }
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (entry->hasAttr(SinterDialect::kEntry) && isTrainingStep(entry))
        quantizeIn(entry);
  }

private:
  /// Elsewhere a scale of all rows would make what one row gives depend on those beside it.
  static bool isTrainingStep(func::FuncOp entry) {
    return llvm::any_of(entry.getOps(),
                        [](Operation &op) { return getStage(op.getLoc()) == Stage::Backward; });
  }

  void quantizeIn(func::FuncOp entry) {
    Products products(entry);
    quantized.clear();
    unsigned count = 0;
    for (auto matmul : llvm::to_vector(entry.getOps<MatmulOp>()))
      if (products.contains(matmul)) {
        auto formatOf = [&](Value side) -> FloatType {
          if (products.isGradient(side))
            return Float8E5M2Type::get(&getContext());
          return Float8E4M3FNType::get(&getContext());
        };
        multiply(matmul, quantize(matmul.getLhs(), formatOf(matmul.getLhs()), matmul),
                 quantize(matmul.getRhs(), formatOf(matmul.getRhs()), matmul));
        ++count;
      }
    if (count > 0)
      remark::passed(entry.getLoc(), remark::RemarkOpts::name("ProductsQuantized")
                                         .category("sinter-precision")
                                         .function(entry.getName()))
          << llvm::formatv("{0} products of {1} multiply fp8: {2} values are rounded to it", count,
                           entry.getName(), quantized.size())
                 .str();
  }

  /// A side of a product, rounded where it is defined.
  Quantized quantize(Value side, FloatType element, MatmulOp matmul) {
    Value whole = skipReshapes(side);
    OpBuilder builder(matmul);
    Quantized &made = quantized[{whole, element}];
    if (!made.numbers) {
      builder.setInsertionPointAfterValue(whole);
      made = Quantizer(matmul.getLoc(), builder).quantize(whole, element);
      builder.setInsertionPoint(matmul);
    }
    auto type = cast<RankedTensorType>(side.getType()).clone(element);
    if (whole == side)
      return made;
    return {ReshapeOp::create(builder, matmul.getLoc(), type, made.numbers), made.scale};
  }

  /// Makes `matmul` one of both sides.
  static void multiply(MatmulOp matmul, Quantized lhs, Quantized rhs) {
    TargetAttr target = TargetAttr::lookup(matmul);
    if (target && hasFp8Products(target))
      return multiplyBytes(matmul, lhs, rhs);
    OpBuilder builder(matmul);
    auto widen = [&](Value numbers) {
      auto type = cast<RankedTensorType>(numbers.getType());
      return CastOp::create(builder, matmul.getLoc(), type.clone(builder.getF32Type()), numbers);
    };
    matmul.getLhsMutable().assign(widen(lhs.numbers));
    matmul.getRhsMutable().assign(widen(rhs.numbers));
    builder.setInsertionPointAfter(matmul);
    Quantizer formulas(matmul.getLoc(), builder);
    Value scale = formulas.binary<MulOp>(lhs.scale, rhs.scale);
    Value spread = formulas.spread(scale, matmul.getType());
    Value scaled = formulas.binary<MulOp>(matmul, spread);
    matmul.getResult().replaceAllUsesExcept(scaled, scaled.getDefiningOp());
  }

  /// The same where there are products of fp8: of bytes side by side along k, as matrix units and
  /// libraries take them.
  static void multiplyBytes(MatmulOp matmul, Quantized lhs, Quantized rhs) {
    OpBuilder builder(matmul);
    auto turn = [&](Value matrix) -> Value {
      auto type = cast<RankedTensorType>(matrix.getType());
      auto turned =
          RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
      return TransposeOp::create(builder, matmul.getLoc(), turned, matrix, ArrayRef<int64_t>{1, 0});
    };
    auto number = [&](Value scale) -> Value {
      auto type = RankedTensorType::get({1, 1}, builder.getF32Type());
      return ReshapeOp::create(builder, matmul.getLoc(), type, scale);
    };
    matmul.getLhsMutable().assign(matmul.getTransposeLhs() ? turn(lhs.numbers) : lhs.numbers);
    matmul.getRhsMutable().assign(matmul.getTransposeRhs() ? rhs.numbers : turn(rhs.numbers));
    matmul.getScalesMutable().assign(number(rhs.scale));
    matmul.getRowScalesMutable().assign(number(lhs.scale));
    matmul.setTransposeLhs(false);
    matmul.setTransposeRhs(true);
  }

  llvm::DenseMap<std::pair<Value, Type>, Quantized> quantized;
};
} // namespace
