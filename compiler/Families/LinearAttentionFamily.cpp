#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Families/Families.h"
#include "compiler/Families/OpSets.h"

using namespace mlir;
using namespace sinter;

namespace {
struct LinearAttentionFamily : KernelFamily {
  LinearAttentionFamily() : KernelFamily("linear_attention") {}

  bool isRoot(Operation *op) const override {
    return isa<LinearAttentionOp, LinearAttentionGradOp>(op);
  }

  StringRef findObstacle(const OpSet &ops, Operation *) const override {
    return ops.size() > 1 ? "the op runs alone" : "";
  }

  bool hasImmediates() const override { return false; }

  StringRef findGpuObstacle() const override {
    return "linear attention has no kernel for GPUs yet";
  }

  FailureOr<int64_t> lowerToLoops(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                  const TargetAttr &target) const override {
    if (isForGpu(tensorKernel))
      return tensorKernel.emitError("expected a processor as the target: ") << findGpuObstacle();
    if (isa<LinearAttentionGradOp>(tensorKernel.front().front()))
      return lowerLinearAttentionGradKernel(tensorKernel, loopKernel, target);
    return lowerLinearAttentionKernel(tensorKernel, loopKernel, target);
  }
};
} // namespace

const KernelFamily &sinter::getLinearAttentionFamily() {
  static const LinearAttentionFamily family;
  return family;
}
