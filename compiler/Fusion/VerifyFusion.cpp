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
    KernelFamilies families(&getContext());
    bool valid = true;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(SinterDialect::kEntry))
        for (Operation &op : function.front().without_terminator())
          valid &= succeeded(verifyEntryOp(&op, families));
      if (function->hasAttr(SinterDialect::kKernel))
        valid &= succeeded(verifyKernel(function, families));
    }
    if (!valid)
      signalPassFailure();
  }

private:
  static LogicalResult verifyEntryOp(Operation *op, const KernelFamilies &families) {
    if (isa<CallKernelOp, CollectiveOpInterface>(op) || isAlias(op) ||
        op->hasTrait<OpTrait::ConstantLike>())
      return success();
    if (auto fusion = dyn_cast<FusionOp>(op))
      if (const KernelFamily *family = families.lookup(fusion); family && family->isCommand())
        return success();
    return op->emitError("expected only kernels, collectives, fusions that are commands, reshapes "
                         "and constants in an entry after Fusion");
  }

  static LogicalResult verifyKernel(func::FuncOp kernel, const KernelFamilies &families) {
    FailureOr<const KernelFamily *> family = families.require(kernel);
    if (failed(family))
      return failure();
    StringRef name = (*family)->getName();
    if ((*family)->isCommand())
      return kernel.emitError("expected a family that is launched, got ") << name;
    unsigned own = 0, others = 0;
    for (Operation &op : kernel.front().without_terminator())
      if (const KernelFamily *rooted = families.findRooted(&op))
        ++(rooted == *family ? own : others);
    if (own == (name == kRowsFamily ? 0 : 1) && others == 0)
      return success();
    return kernel.emitError("expected a kernel of rows without an op that another family is made "
                            "around, or of another family with one of its own, got one of ")
           << name << " with " << own << " of its own and " << others << " of others";
  }
};
} // namespace
