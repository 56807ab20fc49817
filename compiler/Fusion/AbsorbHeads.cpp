#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/FormatNs.h"
#include "compiler/Analysis/GainRemark.h"
#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Fusion/FusionUtils.h"
#include "compiler/Fusion/Passes.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_ABSORBHEADSPASS
#include "compiler/Fusion/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// The fusion of rows that alone reads a product's one result, or null.
static FusionOp findOnlyReader(FusionOp product) {
  if (product->getNumResults() != 1 || !product->hasOneUse())
    return nullptr;
  auto rows = dyn_cast<FusionOp>(*product->user_begin());
  return rows && rows.getFamily() == kRowsFamily ? rows : nullptr;
}

namespace {
struct AbsorbHeadsPass : sinter::impl::AbsorbHeadsPassBase<AbsorbHeadsPass> {
  using AbsorbHeadsPassBase::AbsorbHeadsPassBase;

  void runOnOperation() override {
    TargetAttr target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    if (!target.fusesGemv())
      return markAllAnalysesPreserved();
    for (FusionOp product : findFusions(getOperation(), kGemmFamily))
      if (FusionOp rows = findOnlyReader(product))
        absorb(product, rows, CostModel(target));
  }

private:
  /// Replaces a product and the rows that are made of it by a product that makes them, if there is
  /// a kernel for that and it pays.
  static void absorb(FusionOp product, FusionOp rows, const CostModel &costs) {
    FusionOp joined = joinFusions(product, rows, kGemmFamily);
    std::optional<LibraryGemm> gemm = matchLibraryGemm(getOps(*joined.getBlock()));
    if (!gemm || !gemm->heads)
      return joined->erase();
    double apart =
        costs.getBodyCost(*product.getBlock()).ns + costs.getBodyCost(*rows.getBlock()).ns;
    double together = costs.getBodyCost(*joined.getBlock()).ns;
    bool pays = together < apart;
    auto function = rows->getParentOfType<func::FuncOp>();
    Operation *behind = rows;
    (pays ? remark::passed(rows.getLoc(), getRemark("HeadsAbsorbed", function))
          : remark::missed(rows.getLoc(), getRemark("HeadsAbsorbed", function)))
        << llvm::formatv("{0} in the product that it reads: {1} together, {2} apart",
                         describeOps(behind), formatNs(together), formatNs(apart))
               .str()
        << remark::metric(kGainNs, apart - together);
    if (!pays)
      return joined->erase();
    rows->replaceAllUsesWith(joined);
    rows->erase();
    product->erase();
  }
};
} // namespace
