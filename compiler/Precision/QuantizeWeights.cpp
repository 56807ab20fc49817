#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/WeightValues.h"
#include "compiler/Precision/ForwardProducts.h"
#include "compiler/Precision/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_QUANTIZEWEIGHTSPASS
#include "compiler/Precision/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// A scale below it is that of a group of zeros, by which nothing is divided.
static constexpr double kLeastScale = 1e-30;
/// Integers along k that kernels of experts read together, at the most.
static constexpr int64_t kIntegersOfWord = 4;

namespace {
/// The largest number of a type of 8 bits, as sinter.quantize has it.
static double getLargest(Type element) {
  auto number = dyn_cast<FloatType>(element);
  return number ? APFloat::getLargest(number.getFloatSemantics()).convertToDouble() : 127;
}

/// A matrix `[n, k]` in 8 or 4 bits with a scale for each group of a row.
struct RoundedWeight {
  Value numbers, scales;
};

/// Builds formulas on f32 tensors.
class FormulaBuilder {
public:
  FormulaBuilder(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  /// @param element i8, i4 or f8E4M3FN
  RoundedWeight quantize(Value weight, int64_t group, Type element) {
    auto type = cast<RankedTensorType>(weight.getType());
    int64_t n = type.getDimSize(0), k = type.getDimSize(1);
    if (!type.getElementType().isF32())
      weight = CastOp::create(builder, loc, type.clone(builder.getF32Type()), weight);
    RankedTensorType groupsType = f32({n, k / group, group});
    Value groups = ReshapeOp::create(builder, loc, groupsType, weight);
    bool hasExtremes = element.isInteger(4);
    Value scales =
        hasExtremes ? scalesOfExtremes(groups) : symmetricScales(groups, getLargest(element));
    Value steps = BroadcastOp::create(builder, loc, groupsType, divisible(scales, hasExtremes),
                                      ArrayRef<int64_t>{0, 1});
    Value rounded = binary<DivOp>(groups, steps);
    if (isa<IntegerType>(element)) // a cast to them is towards zero
      rounded = unary<RoundOp>(rounded);
    if (hasExtremes)
      rounded = binary<MinimumOp>(rounded, splatLike(rounded, 7.0));
    Value q = CastOp::create(builder, loc, groupsType.clone(element), rounded);
    q = ReshapeOp::create(builder, loc, RankedTensorType::get({n, k}, element), q);
    return {q, scales};
  }

private:
  /// The largest magnitude is the largest number: of integers 127, as in GGUF's Q8_0.
  Value symmetricScales(Value groups, double largestNumber) {
    Value magnitudes = binary<MaximumOp>(groups, unary<NegOp>(groups));
    Value largest = reduceMax(magnitudes);
    return binary<MulOp>(largest, splatLike(largest, 1.0 / largestNumber));
  }

  /// The number of the largest magnitude is -8, as in GGUF's Q4_0: of few steps all are used.
  Value scalesOfExtremes(Value groups) {
    Value upper = reduceMax(groups), lower = reduceMax(unary<NegOp>(groups));
    Value isUpper = unary<StepOp>(binary<SubOp>(upper, lower));
    // upper, or -lower.
    Value extreme = binary<SubOp>(binary<MulOp>(isUpper, binary<AddOp>(upper, lower)), lower);
    return binary<MulOp>(extreme, splatLike(extreme, -1.0 / 8.0));
  }

  /// Scales that are not zero. Those of extremes have either sign.
  Value divisible(Value scales, bool hasExtremes) {
    if (!hasExtremes)
      return binary<MaximumOp>(scales, splatLike(scales, kLeastScale));
    Value magnitudes = binary<MaximumOp>(scales, unary<NegOp>(scales));
    Value isZero = unary<StepOp>(binary<SubOp>(splatLike(scales, kLeastScale), magnitudes));
    return binary<AddOp>(scales, isZero);
  }

  RankedTensorType f32(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  Value splatLike(Value value, double number) {
    return ConstantOp::create(builder, loc, cast<RankedTensorType>(value.getType()), number);
  }
  template <typename Op> Value unary(Value x) { return Op::create(builder, loc, x.getType(), x); }
  template <typename Op> Value binary(Value a, Value b) {
    return Op::create(builder, loc, a.getType(), a, b);
  }
  Value reduceMax(Value x) {
    auto type = cast<RankedTensorType>(x.getType());
    return ReduceOp::create(builder, loc, f32(type.getShape().drop_back()), x, ReductionKind::Max);
  }

  OpBuilder &builder;
  Location loc;
};

struct QuantizeWeightsPass : sinter::impl::QuantizeWeightsPassBase<QuantizeWeightsPass> {
  using QuantizeWeightsPassBase::QuantizeWeightsPassBase;

  void runOnOperation() override {
    if ((weights != "int8" && weights != "int4" && weights != "fp8") || group < 0) {
      getOperation().emitError(
          "expected weights of int8, int4 or fp8 in groups of at least 1, or 0 "
          "for all, got ")
          << weights.getValue() << " in groups of " << group.getValue();
      return signalPassFailure();
    }
    auto entries = llvm::filter_to_vector(getOperation().getOps<func::FuncOp>(), [](auto function) {
      return function->hasAttr(SinterDialect::kEntry);
    });
    for (func::FuncOp entry : entries)
      findRefused(entry);
    for (func::FuncOp entry : entries)
      quantizeIn(entry);
  }

private:
  /// The names of the parameters that a value is computed from.
  static SmallVector<StringRef> getParameters(Value value) {
    SmallVector<StringRef> names;
    SmallVector<Value> open{value};
    while (!open.empty()) {
      Value next = open.pop_back_val();
      if (Operation *op = next.getDefiningOp()) {
        open.append(op->operand_begin(), op->operand_end());
        continue;
      }
      auto argument = cast<BlockArgument>(next);
      auto entry = cast<func::FuncOp>(argument.getOwner()->getParentOp());
      unsigned index = argument.getArgNumber();
      if (auto name = entry.getArgAttrOfType<StringAttr>(index, SinterDialect::kParameter))
        names.push_back(name.getValue());
    }
    return names;
  }

  /// Elements along k that share a scale.
  template <typename Op> int64_t getGroup(Op matmul) { return group ? group : matmul.getK(); }

  StringRef getReasonToRefuse(MatmulOp matmul) {
    if (matmul.getTransposeLhs() || matmul.getK() % getGroup(matmul) != 0)
      return "k is no multiple of the group";
    if (routers.contains(matmul))
      return "it chooses experts";
    if (!head && isLastProduct(matmul))
      return "it is the last product's";
    if (!head && isTable(matmul.getRhs()))
      return "it is a table, too";
    return {};
  }

  /// The products whose numbers choose experts, which rounding them would change.
  void findRouters(func::FuncOp entry) {
    SmallVector<Value> open;
    for (auto choice : entry.getOps<TopKOp>())
      open.push_back(choice.getOperand());
    llvm::DenseSet<Value> seen(open.begin(), open.end());
    while (!open.empty()) {
      Operation *op = open.pop_back_val().getDefiningOp();
      if (isa_and_nonnull<MatmulOp>(op))
        routers.insert(op);
      else if (op)
        for (Value operand : op->getOperands())
          if (seen.insert(operand).second)
            open.push_back(operand);
    }
  }

  /// Experts' integers are read in whole panels, and groups of them as whole words; on a GPU row by
  /// row.
  StringRef getReasonToRefuse(GroupedMatmulOp matmul) {
    int64_t size = getGroup(matmul);
    if (matmul.getK() % size != 0)
      return "k is no multiple of the group";
    TargetAttr target = TargetAttr::lookup(matmul);
    if (target && !target.readsPackedRhs())
      return matmul.getTransposeRhs() ? "" : "an expert's columns are no rows";
    if (weights == "fp8")
      return "a processor multiplies no experts by fp8";
    PanelsAttr panels = getIntegerPanels(IntegerType::get(&getContext(), 8), target);
    if (!matmul.getTransposeRhs() || matmul.getN() % panels.getWidth() != 0)
      return "an expert's columns are no whole panels";
    if (size % kIntegersOfWord != 0 && size != matmul.getK())
      return "the group is not of whole words";
    return {};
  }

  template <typename Op> static bool isWeight(Op matmul, const llvm::DenseSet<Value> &values) {
    return !matmul.getScales() && values.contains(matmul.getRhs()) &&
           !getParameters(matmul.getRhs()).empty();
  }

  void findRefused(func::FuncOp entry) {
    llvm::DenseSet<Value> values = findParameterValues(entry);
    findRouters(entry);
    auto find = [&](auto matmul) {
      if (isWeight(matmul, values))
        if (StringRef reason = getReasonToRefuse(matmul); !reason.empty())
          for (StringRef name : getParameters(matmul.getRhs()))
            refused.try_emplace(name, reason);
    };
    for (auto matmul : entry.getOps<MatmulOp>())
      find(matmul);
    for (auto matmul : entry.getOps<GroupedMatmulOp>())
      find(matmul);
  }

  void quantizeIn(func::FuncOp entry) {
    llvm::DenseSet<Value> values = findParameterValues(entry);
    int64_t count = 0, elements = 0, scales = 0;
    Type element = IntegerType::get(&getContext(), weights == "int4" ? 4 : 8);
    if (weights == "fp8")
      element = Float8E4M3FNType::get(&getContext());
    int64_t bits = element.getIntOrFloatBitWidth();
    auto quantizeOne = [&](auto matmul) {
      if (!isWeight(matmul, values))
        return;
      SmallVector<StringRef> names = getParameters(matmul.getRhs());
      auto *found = llvm::find_if(names, [&](StringRef name) { return refused.contains(name); });
      if (found != names.end()) {
        remark::missed(matmul.getLoc(), remark::RemarkOpts::name("NotQuantized")
                                            .category("sinter-precision")
                                            .function(entry.getName()))
            << llvm::formatv("'{0}' stays as it is: {1}", *found, refused.lookup(*found)).str();
        return;
      }
      int64_t numbers = matmul.getRhs().getType().getNumElements();
      quantize(matmul, element);
      ++count;
      elements += numbers;
      scales += numbers / getGroup(matmul);
    };
    for (auto matmul : llvm::to_vector(entry.getOps<MatmulOp>()))
      quantizeOne(matmul);
    for (auto matmul : llvm::to_vector(entry.getOps<GroupedMatmulOp>()))
      quantizeOne(matmul);
    if (count > 0)
      remark::passed(entry.getLoc(), remark::RemarkOpts::name("Quantized")
                                         .category("sinter-precision")
                                         .function(entry.getName()))
          << llvm::formatv("{0} products of {1} by weights of {2}, a scale for {3} of them: {4:F1} "
                           "MB instead of {5:F1} in f32",
                           count, entry.getName(), weights.getValue(),
                           group ? std::to_string(group) : "a channel",
                           (elements * (bits / 8.0) + 4.0 * scales) / 1e6, elements * 4 / 1e6)
                 .str();
  }

  void quantize(MatmulOp matmul, Type element) {
    OpBuilder builder(matmul);
    Value weight = matmul.getRhs();
    if (!matmul.getTransposeRhs()) {
      auto type = cast<RankedTensorType>(weight.getType());
      auto turned =
          RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
      weight =
          TransposeOp::create(builder, matmul.getLoc(), turned, weight, ArrayRef<int64_t>{1, 0});
      matmul.setTransposeRhs(true);
    }
    RoundedWeight q =
        FormulaBuilder(builder, matmul.getLoc()).quantize(weight, getGroup(matmul), element);
    matmul.getRhsMutable().assign(q.numbers);
    matmul.getScalesMutable().assign(q.scales);
  }

  /// What all experts' matrices are stacked from, `[rows, k]` each: kernels round one at a time,
  /// and nothing is stacked but integers.
  static SmallVector<Value> getParts(OpBuilder &builder, GroupedMatmulOp matmul) {
    Value stacked = matmul.getRhs();
    while (isa_and_nonnull<CastOp, ReshapeOp>(stacked.getDefiningOp()))
      stacked = stacked.getDefiningOp()->getOperand(0);
    int64_t k = matmul.getK();
    auto concat = stacked.getDefiningOp<ConcatOp>();
    if (concat && concat.getType().getRank() == 2 && concat.getDim() == 0 &&
        concat.getType().getDimSize(1) == k)
      return llvm::to_vector(concat.getOperands());
    RankedTensorType type = matmul.getRhs().getType();
    return {ReshapeOp::create(builder, matmul.getLoc(),
                              type.clone({matmul.getGroups() * matmul.getN(), k}),
                              matmul.getRhs())};
  }

  void quantize(GroupedMatmulOp matmul, Type element) {
    OpBuilder builder(matmul);
    Location loc = matmul.getLoc();
    SmallVector<Value> numbers, scales;
    for (Value part : getParts(builder, matmul)) {
      RoundedWeight q = FormulaBuilder(builder, loc).quantize(part, getGroup(matmul), element);
      numbers.push_back(q.numbers);
      scales.push_back(q.scales);
    }
    auto stack = [&](ArrayRef<Value> parts) -> Value {
      auto type = cast<RankedTensorType>(parts.front().getType());
      int64_t groups = matmul.getGroups(), n = matmul.getN(), width = type.getDimSize(1);
      Value all = parts.front();
      if (parts.size() > 1)
        all = ConcatOp::create(builder, loc, type.clone({groups * n, width}), parts, /*dim=*/0);
      return ReshapeOp::create(builder, loc, type.clone({groups, n, width}), all);
    };
    matmul.getRhsMutable().assign(stack(numbers));
    matmul.getScalesMutable().assign(stack(scales));
  }

  llvm::DenseSet<Operation *> routers;
  llvm::StringMap<StringRef> refused; ///< parameters, and why
};
} // namespace
