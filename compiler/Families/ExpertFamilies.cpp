#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Families/Families.h"
#include "compiler/Families/OpSets.h"

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

struct StackFamily : KernelFamily {
  StackFamily() : KernelFamily("stack") {}

  bool isRoot(Operation *op) const override {
    auto concat = dyn_cast<ConcatOp>(op);
    if (!concat || concat.getNumOperands() <= kMostRowsParts || !isForGpu(op))
      return false;
    RankedTensorType type = concat.getType();
    return type.getRank() > 1 && llvm::all_equal(concat->getOperandTypes()) &&
           llvm::all_of(type.getShape().take_front(concat.getDim()),
                        [](int64_t extent) { return extent == 1; });
  }

  StringRef findObstacle(const OpSet &ops, Operation *root) const override {
    auto behind = findDownstream(root, ops);
    unsigned results = 0, casts = 0;
    for (Operation *op : ops) {
      results += escapes(op, ops);
      casts += isa<CastOp>(op);
      bool rounds = isa<CastOp>(op) && isFloat(op->getOperand(0).getType()) &&
                    isFloat(op->getResult(0).getType());
      if (op != root && (!behind.contains(op) || (!rounds && !isAlias(op))))
        return "many matrices are put together as they are in memory, and rounded behind";
    }
    return results > 1 || casts > 1 ? "matrices are put together as one result, rounded once" : "";
  }

  TemplateGenerator getTemplate() const override { return instantiateStack; }

private:
  /// A kernel of rows asks of each element which part it is of: of more parts that takes longer to
  /// compile, and of hundreds minutes.
  static constexpr unsigned kMostRowsParts = 8;
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

const KernelFamily &sinter::getStackFamily() {
  static const StackFamily family;
  return family;
}

const KernelFamily &sinter::getRoutingFamily() {
  static const RoutingFamily family;
  return family;
}
