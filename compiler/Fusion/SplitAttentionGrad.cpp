#include "compiler/Fusion/FusionUtils.h"
#include "compiler/Fusion/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace sinter {
#define GEN_PASS_DEF_SPLITATTENTIONGRADPASS
#include "compiler/Fusion/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct SplitAttentionGradPass : sinter::impl::SplitAttentionGradPassBase<SplitAttentionGradPass> {
  using SplitAttentionGradPassBase::SplitAttentionGradPassBase;

  void runOnOperation() override {
    TargetAttr target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    if (!target.splitsAttentionGrad())
      return markAllAnalysesPreserved();
    for (FusionOp fusion : findFusions(getOperation()))
      split(fusion);
  }

private:
  void split(FusionOp fusion) {
    SmallVector<unsigned> ofQueries, others;
    for (auto [i, value] : llvm::enumerate(fusion.getYielded())) {
      auto gradient = value.getDefiningOp<AttentionGradOp>();
      bool query = gradient && value == gradient.getQueryGradient();
      (query ? ofQueries : others).push_back(i);
    }
    if (ofQueries.empty() || others.empty())
      return;
    copyWith(fusion, ofQueries);
    copyWith(fusion, others);
    fusion->erase();
  }

  /// Another fusion with these results, in the place of the first one's.
  void copyWith(FusionOp fusion, ArrayRef<unsigned> results) {
    OpBuilder builder(fusion);
    SmallVector<Type> types;
    for (unsigned result : results)
      types.push_back(fusion.getResult(result).getType());
    auto copy =
        FusionOp::create(builder, fusion.getLoc(), types, fusion.getInputs(), fusion.getFamily());
    IRMapping mapping;
    fusion.getBody().cloneInto(&copy.getBody(), mapping);
    Operation *terminator = copy.getBlock()->getTerminator();
    SmallVector<Value> yielded;
    for (auto [i, result] : llvm::enumerate(results)) {
      yielded.push_back(terminator->getOperand(result));
      fusion.getResult(result).replaceAllUsesWith(copy.getResult(i));
    }
    terminator->setOperands(yielded);
  }
};
} // namespace
