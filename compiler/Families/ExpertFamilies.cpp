#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Families/Families.h"

using namespace mlir;
using namespace sinter;

namespace {
/// A family of kernels of one op.
struct SingleOpFamily : KernelFamily {
  using KernelFamily::KernelFamily;

  StringRef findObstacle(const OpSet &ops, Operation *) const override {
    return ops.size() > 1 ? "the op runs alone" : "";
  }
};

struct GroupedGemmFamily : SingleOpFamily {
  GroupedGemmFamily() : SingleOpFamily("grouped_gemm") {}

  bool isRoot(Operation *op) const override { return isa<GroupedMatmulOp, GroupedOuterOp>(op); }

  FailureOr<int64_t> lowerToLoops(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                  const TargetAttr &target) const override {
    return tensorKernel.front().getOps<GroupedOuterOp>().empty()
               ? lowerGroupedGemmKernel(tensorKernel, loopKernel, target)
               : lowerGroupedOuterKernel(tensorKernel, loopKernel, target);
  }

  TemplateGenerator getTemplate() const override { return instantiateGrouped; }
};

struct RoutingFamily : SingleOpFamily {
  RoutingFamily() : SingleOpFamily("routing") {}

  bool isRoot(Operation *op) const override { return isa<TopKOp, RouteOp>(op); }

  FailureOr<int64_t> lowerToLoops(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                  const TargetAttr &target) const override {
    return lowerRoutingKernel(tensorKernel, loopKernel, target);
  }

  TemplateGenerator getTemplate() const override { return instantiateRouting; }
};
} // namespace

const KernelFamily &sinter::getGroupedGemmFamily() {
  static const GroupedGemmFamily family;
  return family;
}

const KernelFamily &sinter::getRoutingFamily() {
  static const RoutingFamily family;
  return family;
}
