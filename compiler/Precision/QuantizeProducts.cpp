#include "compiler/Analysis/Target.h"
#include "compiler/Analysis/WeightValues.h"
#include "compiler/Precision/AmaxHistory.h"
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

  /// What the pass takes as numbers to round, of f32.
  Value widen(Value x) {
    auto type = cast<RankedTensorType>(x.getType()).clone(builder.getF32Type());
    return x.getType() == type ? x : CastOp::create(builder, loc, type, x);
  }

  /// With a scale of what `x` holds. @param x a dense value of f32, of rank 1 at least
  Quantized quantize(Value x, FloatType element) {
    double largest = getLargestMagnitude(element);
    Value magnitude = binary<MaximumOp>(reduceMagnitudes(x), number(kLeastMagnitude));
    Value scale = binary<MulOp>(magnitude, number(1.0 / largest));
    return {round(scaleBy(x, binary<DivOp>(number(largest), magnitude)), element), scale};
  }

  /// With a scale of what it held before: what is larger becomes the type's largest number, but
  /// for infinity, which says that a step overflowed.
  Quantized quantize(Value x, FloatType element, AmaxScale given) {
    auto type = cast<RankedTensorType>(x.getType());
    double largest = getLargestMagnitude(element);
    Value scaled = scaleBy(x, given.factor);
    Value clamped = binary<MinimumOp>(scaled, spread(number(largest), type));
    clamped = binary<MaximumOp>(clamped, spread(number(-largest), type));
    scaled = WhereFiniteOp::create(builder, loc, type, x, clamped, scaled);
    return {round(scaled, element), given.scale};
  }

  /// max |x|, row by row first: rows are of independent work.
  Value reduceMagnitudes(Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    Value most = binary<MaximumOp>(x, NegOp::create(builder, loc, type, x));
    int64_t width = type.getShape().back();
    most = ReshapeOp::create(builder, loc, f32({type.getNumElements() / width, width}), most);
    most = ReduceOp::create(builder, loc, f32(type.getNumElements() / width), most,
                            ReductionKind::Max);
    return ReduceOp::create(builder, loc, f32({}), most, ReductionKind::Max);
  }
  /// A number for each element.
  Value spread(Value scalar, RankedTensorType type) {
    return BroadcastOp::create(builder, loc, type, scalar, ArrayRef<int64_t>());
  }
  template <typename Op> Value binary(Value a, Value b) {
    return Op::create(builder, loc, a.getType(), a, b);
  }

private:
  Value scaleBy(Value x, Value factor) {
    return binary<MulOp>(x, spread(factor, cast<RankedTensorType>(x.getType())));
  }
  Value round(Value scaled, FloatType element) {
    return CastOp::create(builder, loc, cast<RankedTensorType>(scaled.getType()).clone(element),
                          scaled);
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
            gradients.try_emplace(skipReshapes(other), getArguments(side).front());
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

  /// The parameter that a product multiplies, or that the product is of whose gradient it does.
  BlockArgument getParameter(MatmulOp matmul) const {
    for (Value side : matmul->getOperands().take_front(2))
      if (BlockArgument parameter = gradients.lookup(skipReshapes(side)))
        return parameter;
    return getArguments(matmul.getRhs()).front();
  }

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
  llvm::DenseMap<Value, BlockArgument> gradients; ///< and a parameter each comes back from
};

struct QuantizeProductsPass : sinter::impl::QuantizeProductsPassBase<QuantizeProductsPass> {
  using QuantizeProductsPassBase::QuantizeProductsPassBase;

  void runOnOperation() override {
    if (scales != "current" && scales != "history") {
      getOperation().emitError("expected scales that are current or of a history, got ")
          << scales.getValue();
      return signalPassFailure();
    }
    if (length < 1 || margin < 0) {
      getOperation().emitError("expected a history of 1 step at least and a margin of 0 at least, "
                               "got ")
          << length.getValue() << " and " << margin.getValue();
      return signalPassFailure();
    }
    SmallVector<func::FuncOp> steps, updates;
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (entry->hasAttr(SinterDialect::kEntry)) {
        if (hasStage(entry, Stage::Backward))
          steps.push_back(entry);
        if (hasStage(entry, Stage::Optimizer))
          updates.push_back(entry);
      }
    if (scales == "history" && !steps.empty() && updates.size() != 1) {
      steps.front().emitError(
          "expected one entry that updates parameters, and histories with them, got ")
          << updates.size();
      return signalPassFailure();
    }
    AmaxValues values;
    for (func::FuncOp step : steps)
      quantizeIn(step, values);
    if (!values.empty() && !hasStage(updates.front(), Stage::Backward))
      AmaxHistory::update(updates.front(), values, length);
  }

private:
  /// A scale of all rows elsewhere than in a training step, which has a backward pass, would make
  /// what one row gives depend on those beside it.
  static bool hasStage(func::FuncOp entry, Stage stage) {
    return llvm::any_of(entry.getOps(),
                        [&](Operation &op) { return getStage(op.getLoc()) == stage; });
  }

  /// What a side of a product is before any product is changed, and what it is rounded to.
  struct Side {
    Value whole;
    FloatType element;
  };

  void quantizeIn(func::FuncOp entry, AmaxValues &values) {
    Products products(entry);
    quantized.clear();
    history.reset();
    if (scales == "history")
      history.emplace(entry, length, margin);
    SmallVector<std::tuple<MatmulOp, Side, Side>> narrow;
    for (auto matmul : entry.getOps<MatmulOp>()) {
      if (!products.contains(matmul))
        continue;
      auto find = [&](Value side) -> Side {
        if (products.isGradient(side))
          return {skipReshapes(side), Float8E5M2Type::get(&getContext())};
        return {skipReshapes(side), Float8E4M3FNType::get(&getContext())};
      };
      Side lhs = find(matmul.getLhs()), rhs = find(matmul.getRhs());
      narrow.emplace_back(matmul, lhs, rhs);
      if (history)
        for (auto [whole, element] : {lhs, rhs})
          history->add(products.getParameter(matmul), whole, element);
    }
    if (narrow.empty())
      return;
    if (history)
      history->begin();
    for (auto [matmul, lhs, rhs] : narrow)
      multiply(matmul, quantize(matmul.getLhs(), lhs, matmul),
               quantize(matmul.getRhs(), rhs, matmul));
    if (history) {
      values = history->getValues();
      history->finish(/*updates=*/hasStage(entry, Stage::Optimizer));
    }
    remark::passed(entry.getLoc(), remark::RemarkOpts::name("ProductsQuantized")
                                       .category("sinter-precision")
                                       .function(entry.getName()))
        << llvm::formatv("{0} products of {1} multiply fp8: {2} values are rounded to it",
                         narrow.size(), entry.getName(), quantized.size())
               .str();
  }

  /// A side of a product, rounded where it is defined.
  Quantized quantize(Value side, Side was, MatmulOp matmul) {
    Value whole = skipReshapes(side); // another one than it was where it is a product, scaled now
    OpBuilder builder(matmul);
    Quantized &made = quantized[{was.whole, was.element}];
    if (!made.numbers) {
      if (history)
        history->setInsertionPoint(builder, whole);
      else
        builder.setInsertionPointAfterValue(whole);
      Quantizer quantizer(matmul.getLoc(), builder);
      Value wide = quantizer.widen(whole);
      if (history) {
        made = quantizer.quantize(wide, was.element, history->getScale(was.whole, was.element));
        history->record(was.whole, was.element, quantizer.reduceMagnitudes(wide));
      } else {
        made = quantizer.quantize(wide, was.element);
      }
      builder.setInsertionPoint(matmul);
    }
    if (whole == side)
      return made;
    auto type = cast<RankedTensorType>(side.getType()).clone(was.element);
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
  std::optional<AmaxHistory> history; ///< of the entry
};
} // namespace
