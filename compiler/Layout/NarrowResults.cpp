#include "compiler/Analysis/Bias.h"
#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Layout/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_NARROWRESULTSPASS
#include "compiler/Layout/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

static RankedTensorType withElements(Value value, Type element) {
  return cast<RankedTensorType>(value.getType()).clone(element);
}

/// Whether an op only gives elements other places, which it can do in any type.
static bool isMovement(Operation *op) { return isa<ReshapeOp, SliceOp>(op); }

/// Whether a value is an output or adds to another, as residuals and sums of gradients do: those
/// are not rounded on their way.
static bool isSummed(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<AddOp>(user) || user->hasTrait<OpTrait::IsTerminator>() ||
           (isMovement(user) && isSummed(user->getResult(0)));
  });
}

/// Whether a value is rounded by the one op that reads it, which the product then does.
static bool isRounded(Value value, Type narrow) {
  if (!value.hasOneUse())
    return false;
  Operation *user = *value.user_begin();
  return (isa<CastOp>(user) && getElementTypeOrSelf(user->getResult(0)) == narrow) ||
         (isAlias(user) && isRounded(user->getResult(0), narrow));
}

namespace {
struct NarrowResultsPass : sinter::impl::NarrowResultsPassBase<NarrowResultsPass> {
  using NarrowResultsPassBase::NarrowResultsPassBase;

  void runOnOperation() override {
    TargetAttr target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    if (!target.hasMatrixUnits())
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        narrowResults(function);
  }

private:
  void narrowResults(func::FuncOp function) {
    unsigned narrowed = 0;
    for (Operation &op : llvm::make_early_inc_range(function.front()))
      narrowed += narrow(&op);
    eraseDeadOps(function.front());
    if (narrowed > 0)
      remark::passed(function.getLoc(), remark::RemarkOpts::name("NarrowResults")
                                            .category("sinter-layout")
                                            .function(function.getName()))
          << llvm::formatv("{0} products and attentions keep their results as narrow as what they "
                           "multiply",
                           narrowed)
                 .str();
  }

  /// Keeps an op's results in the element type of its operands, where it is an op to do so with.
  bool narrow(Operation *op) {
    FusionRole role = getRole(op);
    bool isProduct = role == FusionRole::Contraction;
    if (!isProduct && role != FusionRole::Attention && role != FusionRole::AttentionGrad)
      return false;
    Type element = getElementTypeOrSelf(op->getOperand(0));
    if (element.getIntOrFloatBitWidth() != 16 || getStage(op->getLoc()) == Stage::Optimizer ||
        countTokens(op) <= kMostGemvRows)
      return false;
    if (role == FusionRole::AttentionGrad)
      return narrowGradients(op, element);
    // A sum over rows is a weight's gradient, which others are added to.
    if (auto matmul = dyn_cast<MatmulOp>(op); matmul && matmul.getTransposeLhs())
      return false;
    Value result = op->getResult(0);
    std::optional<Bias> bias = isProduct ? findBias(result) : std::nullopt;
    if (bias)
      result = bias->add;
    if (!getElementTypeOrSelf(result).isF32() || isSummed(result) || isRounded(result, element))
      return false;
    if (bias)
      roundBias(*bias, element);
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfterValue(result);
    auto rounded = CastOp::create(builder, result.getLoc(), withElements(result, element), result);
    replaceUses(result, rounded, element);
    return true;
  }

  /// Rows of hidden states that an op computes.
  static int64_t countTokens(Operation *op) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (getRole(op) == FusionRole::Contraction)
      return getRows(type);
    return type.getDimSize(0) * type.getDimSize(1);
  }

  /// The kernels of attention's gradients round when they store.
  static bool narrowGradients(Operation *op, Type element) {
    if (llvm::any_of(op->getResults(), [](Value gradient) {
          return !getElementTypeOrSelf(gradient).isF32() || isSummed(gradient);
        }))
      return false;
    for (Value gradient : op->getResults()) {
      gradient.setType(withElements(gradient, element));
      replaceUses(gradient, gradient, element);
    }
    return true;
  }

  /// A library adds a bias of the result's type.
  static void roundBias(Bias bias, Type element) {
    Value vector = bias.spread.getOperand();
    OpBuilder builder(bias.spread);
    Value rounded = CastOp::create(builder, vector.getLoc(), withElements(vector, element), vector);
    Value wide = CastOp::create(builder, vector.getLoc(), vector.getType(), rounded);
    auto again = BroadcastOp::create(builder, bias.spread.getLoc(), bias.spread.getType(), wide,
                                     bias.spread.getDims());
    bias.add->replaceUsesOfWith(bias.spread, again);
  }

  /// Lets what uses `value` use `narrow`, of the same numbers in `element`: as it is where the use
  /// rounds or moves, widened where it computes. Each op widens for itself, so that no kernel
  /// writes wide numbers for another one.
  static void replaceUses(Value value, Value narrow, Type element) {
    llvm::SmallSetVector<Operation *, 4> users(value.user_begin(), value.user_end());
    for (Operation *user : users) {
      if (user == narrow.getDefiningOp())
        continue;
      if (isa<CastOp>(user) && getElementTypeOrSelf(user->getResult(0)) == element) {
        user->getResult(0).replaceAllUsesWith(narrow);
        continue;
      }
      OpBuilder builder(user);
      if (isMovement(user)) {
        Operation *moved = builder.clone(*user);
        moved->setOperand(0, narrow);
        moved->getResult(0).setType(withElements(user->getResult(0), element));
        replaceUses(user->getResult(0), moved->getResult(0), element);
        continue;
      }
      auto wide = CastOp::create(builder, user->getLoc(),
                                 withElements(value, Float32Type::get(value.getContext())), narrow);
      user->replaceUsesOfWith(value, wide);
    }
  }
};
} // namespace
