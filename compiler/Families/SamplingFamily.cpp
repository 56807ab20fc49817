#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Families/Families.h"

using namespace mlir;
using namespace sinter;

namespace {
struct SamplingFamily : KernelFamily {
  SamplingFamily() : KernelFamily("sampling") {}

  bool isRoot(Operation *op) const override { return isa<SampleOp>(op); }

  StringRef findObstacle(const OpSet &ops, Operation *) const override {
    return ops.size() > 1 ? "the op runs alone" : "";
  }

  FailureOr<int64_t> lowerToLoops(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                  const TargetAttr &target) const override {
    return lowerSampleKernel(tensorKernel, loopKernel, target);
  }

  TemplateGenerator getTemplate() const override { return instantiateSample; }
};
} // namespace

const KernelFamily &sinter::getSamplingFamily() {
  static const SamplingFamily family;
  return family;
}
