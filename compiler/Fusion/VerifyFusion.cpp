#include "compiler/Analysis/CostModel.h"
#include "compiler/Fusion/FusionUtils.h"
#include "compiler/Fusion/Passes.h"

namespace sinter {
#define GEN_PASS_DEF_VERIFYFUSIONPASS
#include "compiler/Fusion/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct VerifyFusionPass : sinter::impl::VerifyFusionPassBase<VerifyFusionPass> {
  using VerifyFusionPassBase::VerifyFusionPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool valid = true;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(SinterDialect::kEntry))
        for (Operation &op : function.front().without_terminator())
          valid &= succeeded(verifyEntryOp(&op));
      if (auto kind = function->getAttrOfType<StringAttr>(SinterDialect::kKernel))
        valid &= succeeded(verifyKernel(function, kind.getValue()));
    }
    if (!valid)
      signalPassFailure();
  }

private:
  LogicalResult verifyEntryOp(Operation *op) {
    if (isa<CallKernelOp, CollectiveOpInterface>(op) || isAlias(op) ||
        op->hasTrait<OpTrait::ConstantLike>())
      return success();
    if (auto fusion = dyn_cast<FusionOp>(op))
      if (fusion.getKind() == FusionKind::LibraryGemm || fusion.getKind() == FusionKind::Pack)
        return success();
    return op->emitError("expected only kernels, collectives, library products, packings, reshapes "
                         "and constants in an entry after Fusion");
  }

  LogicalResult verifyKernel(func::FuncOp kernel, StringRef name) {
    std::optional<FusionKind> kind = symbolizeFusionKind(name);
    unsigned products = 0, attentions = 0, gradients = 0;
    for (Operation &op : kernel.front().without_terminator()) {
      products += getRole(&op) == FusionRole::Contraction;
      attentions += getRole(&op) == FusionRole::Attention;
      gradients += getRole(&op) == FusionRole::AttentionGrad;
    }
    if (kind == FusionKind::Rows && products + attentions + gradients == 0)
      return success();
    if (kind == FusionKind::Gemm && products == 1 && attentions + gradients == 0)
      return success();
    if (kind == FusionKind::Attention && products + gradients == 0 && attentions == 1)
      return success();
    if (kind == FusionKind::AttentionGrad && products + attentions == 0 && gradients == 1)
      return success();
    return kernel.emitError("expected a kernel of kind rows, gemm with one product, attention "
                            "with one attention or attention_grad with one attention's gradient, "
                            "got \"")
           << name << "\" with " << products << " products, " << attentions << " attentions and "
           << gradients << " gradients of attention";
  }
};
} // namespace
