#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/FormatNs.h"
#include "compiler/Analysis/GainRemark.h"
#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Fusion/FusionUtils.h"
#include "compiler/Fusion/Passes.h"

namespace sinter {
#define GEN_PASS_DEF_ABSORBNORMSPASS
#include "compiler/Fusion/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct AbsorbNormsPass : sinter::impl::AbsorbNormsPassBase<AbsorbNormsPass> {
  using AbsorbNormsPassBase::AbsorbNormsPassBase;

  void runOnOperation() override {
    TargetAttr target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    if (!target.fusesGemv())
      return markAllAnalysesPreserved();
    for (FusionOp rows : findFusions(getOperation(), kRowsFamily))
      absorb(rows, CostModel(target));
  }

private:
  /// Replaces a fusion of norms by products that compute them, if all of its results are the
  /// left-hand sides of such and it pays.
  static void absorb(FusionOp rows, const CostModel &costs) {
    if (llvm::none_of(rows.getBlock()->without_terminator(),
                      [](Operation &op) { return getRole(&op) == FusionRole::RowReduction; }))
      return;
    SmallVector<std::pair<FusionOp, FusionOp>> products; // before and after
    double apart = costs.getBodyCost(*rows.getBlock()).ns, together = 0;
    bool all = true;
    for (OpOperand &use : rows->getUses()) {
      auto product = dyn_cast<FusionOp>(use.getOwner());
      FusionOp joined = product ? join(rows, product) : FusionOp();
      all &= !!joined;
      if (!joined)
        continue;
      products.emplace_back(product, joined);
      apart += costs.getBodyCost(*product.getBlock()).ns;
      together += costs.getBodyCost(*joined.getBlock()).ns;
    }
    if (products.empty())
      return;
    bool pays = all && together < apart;
    auto function = rows->getParentOfType<func::FuncOp>();
    Operation *op = rows;
    std::string text = describeOps(op);
    if (all)
      text += llvm::formatv(" in each of the {0} products that use it: {1} together, {2} apart",
                            products.size(), formatNs(together), formatNs(apart));
    else
      text += " stays apart from the GEMV that uses it: others use it, too";
    (pays ? remark::passed(rows.getLoc(), getRemark("NormAbsorbed", function))
          : remark::missed(rows.getLoc(), getRemark("NormAbsorbed", function)))
        << text << remark::metric(kGainNs, all ? apart - together : 0.0);
    for (auto [before, after] : products) {
      if (pays)
        before->replaceAllUsesWith(after);
      (pays ? before : after)->erase();
    }
    if (pays)
      rows->erase();
  }

  /// The product with what `rows` computes for it inside; null if there is no kernel for that.
  static FusionOp join(FusionOp rows, FusionOp product) {
    unsigned uses = llvm::count_if(product.getInputs(), [&](Value input) {
      return input.getDefiningOp() == rows.getOperation();
    });
    if (product.getFamily() != kGemmFamily || uses != 1)
      return nullptr;
    FusionOp joined = joinFusions(rows, product, kGemmFamily);
    std::optional<LibraryGemm> gemm = matchLibraryGemm(getOps(*joined.getBlock()));
    if (gemm && gemm->norm)
      return joined;
    joined->erase();
    return nullptr;
  }
};
} // namespace
