#include "compiler/Analysis/FormatNs.h"
#include "compiler/Analysis/GainRemark.h"
#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Fusion/FusionUtils.h"
#include "compiler/Fusion/Passes.h"

namespace sinter {
#define GEN_PASS_DEF_SELECTLIBRARYGEMMPASS
#include "compiler/Fusion/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct SelectLibraryGemmPass : sinter::impl::SelectLibraryGemmPassBase<SelectLibraryGemmPass> {
  using SelectLibraryGemmPassBase::SelectLibraryGemmPassBase;

  void runOnOperation() override {
    TargetAttr target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    if (!target.isGpu())
      return markAllAnalysesPreserved();
    const KernelFamily *library = KernelFamilies(&getContext()).lookup(kLibraryGemmFamily);
    for (FusionOp fusion : findFusions(getOperation(), kGemmFamily))
      select(fusion, *library, CostModel(target));
  }

private:
  static void select(FusionOp fusion, const KernelFamily &family, const CostModel &costs) {
    auto function = fusion->getParentOfType<func::FuncOp>();
    OpSet ops = getOps(*fusion.getBlock());
    Operation *op = fusion;
    std::string what = describeOps(op);
    Cost generated = costs.getFusedCost(ops);
    Cost library = family.getCost(ops, costs);
    std::string times = llvm::formatv("{0} by the library, {1} generated", formatNs(library.ns),
                                      formatNs(generated.ns));
    if (StringRef obstacle = family.findObstacle(ops, /*root=*/nullptr); !obstacle.empty()) {
      remark::missed(fusion.getLoc(), getRemark("LibraryGemm", function))
          << (what + ": " + times + "; " + obstacle.str())
          << remark::metric(kGainNs, generated.ns - library.ns);
      return;
    }
    if (library.ns >= generated.ns) {
      remark::missed(fusion.getLoc(), getRemark("LibraryGemm", function))
          << (what + ": " + times) << remark::metric(kGainNs, generated.ns - library.ns);
      return;
    }
    fusion.setFamily(family.getName());
    remark::passed(fusion.getLoc(), getRemark("LibraryGemm", function))
        << (what + ": " + times) << remark::metric(kGainNs, generated.ns - library.ns);
  }
};
} // namespace
