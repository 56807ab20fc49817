#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Families/Families.h"

using namespace mlir;
using namespace sinter;

namespace {
struct ScatterFamily : KernelFamily {
  ScatterFamily() : KernelFamily("scatter") {}

  bool isRoot(Operation *op) const override { return isa<EmbeddingGradOp>(op); }

  StringRef findObstacle(const OpSet &ops, Operation *) const override {
    return ops.size() > 1 ? "the op runs alone" : "";
  }

  FailureOr<int64_t> lowerToLoops(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                  const TargetAttr &) const override {
    return lowerScatterKernel(tensorKernel, loopKernel);
  }

  TemplateGenerator getTemplate() const override { return instantiateEmbeddingGrad; }
};
} // namespace

const KernelFamily &sinter::getScatterFamily() {
  static const ScatterFamily family;
  return family;
}
