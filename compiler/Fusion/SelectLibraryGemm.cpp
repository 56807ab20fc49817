#include "compiler/Analysis/CostModel.h"
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
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        for (auto fusion : function.getOps<FusionOp>())
          if (fusion.getKind() == FusionKind::Gemm)
            select(function, fusion, CostModel(target));
  }

private:
  void select(func::FuncOp function, FusionOp fusion, const CostModel &costs) {
    Operation *op = fusion;
    std::string what = describeOps(op);
    Cost generated = costs.getBodyCost(*fusion.getBlock());
    Cost library = costs.getBodyCost(*fusion.getBlock(), GemmChoice::Library);
    std::string times = llvm::formatv("{0} by the library, {1} generated", formatNs(library.ns),
                                      formatNs(generated.ns));
    std::optional<LibraryGemm> gemm = matchLibraryGemm(fusion);
    if (!gemm || !gemm->fitsLibrary()) {
      remark::missed(fusion.getLoc(), getRemark("LibraryGemm", function))
          << (what + ": " + times + "; the library has no such product")
          << remark::metric(kGainNs, generated.ns - library.ns);
      return;
    }
    if (library.ns >= generated.ns) {
      remark::missed(fusion.getLoc(), getRemark("LibraryGemm", function))
          << (what + ": " + times) << remark::metric(kGainNs, generated.ns - library.ns);
      return;
    }
    fusion.setKind(FusionKind::LibraryGemm);
    remark::passed(fusion.getLoc(), getRemark("LibraryGemm", function))
        << (what + ": " + times) << remark::metric(kGainNs, generated.ns - library.ns);
  }
};
} // namespace
