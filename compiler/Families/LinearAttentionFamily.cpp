#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cuda/Templates.h"
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

  FailureOr<int64_t> lowerToLoops(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                  const TargetAttr &target) const override {
    if (isa<LinearAttentionGradOp>(tensorKernel.front().front()))
      return lowerLinearAttentionGradKernel(tensorKernel, loopKernel, target);
    return lowerLinearAttentionKernel(tensorKernel, loopKernel, target);
  }

  TemplateGenerator getTemplate() const override { return instantiateLinearAttention; }
};
} // namespace

const KernelFamily &sinter::getLinearAttentionFamily() {
  static const LinearAttentionFamily family;
  return family;
}
