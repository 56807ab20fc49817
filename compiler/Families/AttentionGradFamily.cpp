#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Codegen/Loops/StridedInput.h"
#include "compiler/Families/Families.h"
#include "compiler/Families/OpSets.h"

using namespace mlir;
using namespace sinter;

namespace {
struct AttentionGradFamily : KernelFamily {
  AttentionGradFamily() : KernelFamily("attention_grad") {}

  bool isRoot(Operation *op) const override { return isa<AttentionGradOp>(op); }

  StringRef findObstacle(const OpSet &ops, Operation *root) const override {
    // query, key, value and the result's gradient.
    constexpr unsigned rowOperands = 4;
    for (Operation *op : ops) {
      if (op == root)
        continue;
      // All that is read row by row may be a part of longer rows.
      bool rows = llvm::all_of(op->getUses(), [&](OpOperand &use) {
        return use.getOwner() == root ? use.getOperandNumber() < rowOperands
                                      : ops.contains(use.getOwner());
      });
      if (!rows || (!isAlias(op) && !isColumnSlice(op)))
        return "a gradient of attention takes rows as they are in memory";
    }
    for (Value rows : root->getOperands().take_front(rowOperands)) {
      FailureOr<StridedInput> view =
          StridedInput::foresee(rows, [&](Operation *op) { return ops.contains(op); });
      if (failed(view))
        return "a gradient of attention takes rows at fixed distances";
      if (rows == cast<AttentionGradOp>(root).getGradient() && isForGpu(root) &&
          !view->isDense(cast<RankedTensorType>(rows.getType()).getShape()))
        return "a GPU's gradient of attention takes a dense gradient";
    }
    return {};
  }

  bool hasEpilogues() const override { return true; }
  bool hasImmediates() const override { return false; }

  FailureOr<int64_t> lowerToLoops(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                  const TargetAttr &target) const override {
    return lowerAttentionGradKernel(tensorKernel, loopKernel, target);
  }

  TemplateGenerator getTemplate() const override { return instantiateAttentionGrad; }
};
} // namespace

const KernelFamily &sinter::getAttentionGradFamily() {
  static const AttentionGradFamily family;
  return family;
}
