#include "compiler/Analysis/FormatNs.h"
#include "compiler/Analysis/GainRemark.h"
#include "compiler/Analysis/OpOrder.h"
#include "compiler/Fusion/FusionGraph.h"
#include "compiler/Fusion/FusionUtils.h"
#include "compiler/Fusion/Passes.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

namespace sinter {
#define GEN_PASS_DEF_FORMFUSIONSPASS
#include "compiler/Fusion/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct FormFusionsPass : sinter::impl::FormFusionsPassBase<FormFusionsPass> {
  using FormFusionsPassBase::FormFusionsPassBase;

  void runOnOperation() override {
    TargetAttr target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    KernelFamilies families(&getContext());
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(SinterDialect::kEntry))
        continue;
      CostModel costs(target);
      repeatIndexOps(function.front());
      repeatWeightCasts(function, costs, families);
      FusionGraph graph(function.front(), costs, families);
      graph.mergeProducers();
      graph.mergeSiblings();
      if (getContext().getRemarkEngine())
        reportDeclined(function, graph, costs);
      form(function, graph, costs);
      // Copies of index ops that no kernel took are one again.
      DominanceInfo dominance(function);
      eliminateCommonSubExpressions(rewriter, dominance, function);
    }
  }

private:
  /// Gives each use of an op that only moves elements a copy of its own: fused, it costs nothing.
  /// Products, which read matrices from memory, share one.
  void repeatIndexOps(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (getRole(&op) != FusionRole::Index || op.getNumResults() != 1 ||
          op.hasTrait<OpTrait::ConstantLike>())
        continue;
      SmallVector<OpOperand *> uses;
      bool isRead = false;
      for (OpOperand &use : op.getUses())
        if (getRole(use.getOwner()) == FusionRole::Contraction)
          isRead = true;
        else if (!use.getOwner()->hasTrait<OpTrait::IsTerminator>())
          uses.push_back(&use);
      OpBuilder builder(&op);
      builder.setInsertionPointAfter(&op);
      for (OpOperand *use : llvm::drop_begin(uses, isRead || uses.empty() ? 0 : 1))
        use->set(builder.clone(op)->getResult(0));
    }
  }

  /// Gives each use of a rounded weight a cast of its own where that moves no more bytes than
  /// rounding it once for all: so nothing narrow waits from the forward pass for the backward pass.
  /// Time would be misleading here: between two uses of a weight no cache keeps it.
  void repeatWeightCasts(func::FuncOp function, const CostModel &costs,
                         const KernelFamilies &families) {
    llvm::DenseSet<Value> weights = findWeightValues(function);
    for (auto cast : llvm::make_early_inc_range(function.getOps<CastOp>())) {
      if (!weights.contains(cast.getOperand()) || cast->hasOneUse())
        continue;
      SmallVector<Operation *> copies;
      double apart = costs.getCost(cast).bytes;
      for (OpOperand &use : llvm::make_early_inc_range(cast->getUses())) {
        Operation *user = use.getOwner();
        apart += isa<CostOpInterface>(user) ? costs.getCost(user).bytes : 0;
        OpBuilder builder(user);
        Operation *copy = copies.emplace_back(builder.clone(*cast));
        if (Stage stage = getStage(user->getLoc()); stage != Stage::Forward)
          copy->setLoc(inStage(stage, cast.getLoc()));
        use.set(copy->getResult(0));
      }
      bool repeats = getBytesWithUsers(copies, costs, families) <= apart;
      for (Operation *copy : copies)
        if (!repeats) {
          copy->replaceAllUsesWith(cast);
          copy->erase();
        }
      if (repeats)
        cast.erase();
    }
  }

  /// Bytes that casts move which are each done by their one user; infinity where one cannot.
  static double getBytesWithUsers(ArrayRef<Operation *> casts, const CostModel &costs,
                                  const KernelFamilies &families) {
    double sum = 0;
    for (Operation *cast : casts) {
      OpSet together;
      together.insert(cast);
      together.insert(*cast->user_begin());
      if (!isa<FusibleOpInterface>(together.back()) || !classify(together, families))
        return std::numeric_limits<double>::infinity();
      sum += costs.getFusedCost(together).bytes;
    }
    return sum;
  }

  void reportDeclined(func::FuncOp function, const FusionGraph &graph, const CostModel &costs) {
    graph.forEachDeclined([&](const FusionGraph::Group &producer,
                              const FusionGraph::Group &consumer, const Cost &together,
                              StringRef reason) {
      remark::missed(consumer.ops.back()->getLoc(), getRemark("NotFused", function))
          << llvm::formatv("{0} into {1}: {2} together, {3} apart; {4}",
                           describeOps(producer.ops.getArrayRef()),
                           describeOps(consumer.ops.getArrayRef()), formatNs(together.ns),
                           formatNs(producer.cost.ns + consumer.cost.ns), reason)
                 .str()
          << remark::metric(kGainNs, producer.cost.ns + consumer.cost.ns - together.ns);
    });
  }

  void reportFused(func::FuncOp function, const FusionGraph::Group &group, const CostModel &costs) {
    double apart = 0;
    SmallVector<Location> places;
    for (Operation *op : group.ops) {
      apart += costs.getCost(op).ns;
      places.push_back(op->getLoc());
    }
    remark::passed(FusedLoc::get(&getContext(), places), getRemark("Fused", function))
        << llvm::formatv("{0} as one {1} kernel: {2} together, {3} apart",
                         describeOps(group.ops.getArrayRef()), group.family->getName(),
                         formatNs(group.cost.ns), formatNs(apart))
               .str()
        << remark::metric(kGainNs, apart - group.cost.ns);
  }

  void form(func::FuncOp function, const FusionGraph &graph, const CostModel &costs) {
    bool changed = false;
    for (const FusionGraph::Group &group : graph.getGroups()) {
      if (group.ops.size() < 2 || !group.family || group.isFree)
        continue;
      if (getContext().getRemarkEngine())
        reportFused(function, group, costs);
      wrapOps(group.ops.getArrayRef(), *group.family);
      changed = true;
    }
    if (changed)
      orderByNeed(function.front());
  }
};
} // namespace
