#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "mlir/IR/Remarks.h"

namespace sinter {
#define GEN_PASS_DEF_SELECTWARPGROUPSPASS
#include "compiler/Codegen/Cuda/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Why a gradient's products cannot be of warpgroups; empty if they can.
static std::string findReason(AttentionGradOp op) {
  auto key = cast<RankedTensorType>(op.getKey().getType());
  if (key.getElementTypeBitWidth() != 16)
    return "keys are not bf16 or f16";
  int64_t headSize = key.getShape().back();
  if (headSize != 64 && headSize != 128)
    return "heads of " + std::to_string(headSize) + " are not whole tiles";
  return "";
}

namespace {
struct SelectWarpgroupsPass : sinter::impl::SelectWarpgroupsPassBase<SelectWarpgroupsPass> {
  using SelectWarpgroupsPassBase::SelectWarpgroupsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    TargetAttr target = TargetAttr::lookup(module);
    if (!target || !target.hasWarpgroupProducts())
      return markAllAnalysesPreserved();
    for (auto kernel : module.getOps<func::FuncOp>()) {
      if (!kernel->hasAttr(SinterDialect::kKernel))
        continue;
      for (AttentionGradOp op : kernel.front().getOps<AttentionGradOp>()) {
        auto options = remark::RemarkOpts::name("SelectWarpgroups")
                           .category("sinter-codegen")
                           .function(kernel.getName());
        if (std::string reason = findReason(op); !reason.empty()) {
          remark::missed(op.getLoc(), options) << "products are of warps: " + reason;
          continue;
        }
        kernel->setAttr(kWarpgroupsAttribute, UnitAttr::get(&getContext()));
        remark::passed(op.getLoc(), options) << "products are of warpgroups";
      }
    }
  }
};
} // namespace
