#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Codegen/Loops/StridedInput.h"
#include "compiler/Families/Families.h"
#include "compiler/Families/OpSets.h"

using namespace mlir;
using namespace sinter;

namespace {
struct AttentionFamily : KernelFamily {
  AttentionFamily() : KernelFamily("attention") {}

  bool isRoot(Operation *op) const override { return isa<AttentionOp>(op); }

  StringRef findObstacle(const OpSet &ops, Operation *root) const override {
    constexpr unsigned rowOperands = 3; // query, key and value
    auto downstream = findDownstream(root, ops);
    // The logsumexp, where there is one, is written beside the result, as it is.
    if (llvm::any_of(root->getResults().drop_front(), [&](Value value) {
          return llvm::any_of(value.getUsers(),
                              [&](Operation *user) { return ops.contains(user); });
        }))
      return "attention's logsumexp is read from memory";
    for (Operation *op : ops) {
      if (op == root)
        continue;
      bool moves = isAlias(op) || (isColumnSlice(op) && !downstream.contains(op));
      Type element = getElementTypeOrSelf(op->getResult(0).getType());
      bool rounds =
          isa<CastOp>(op) && downstream.contains(op) && (element.isF32() || element.isBF16());
      // A GPU's kernels round once: who wants the rounded result wide widens it.
      if (rounds && isForGpu(root) &&
          element.getIntOrFloatBitWidth() >
              getElementTypeOrSelf(op->getOperand(0)).getIntOrFloatBitWidth())
        return "attention rounds its result once";
      if (!moves && !rounds)
        return "attention takes rows as they are in memory";
      // Queries, dense keys and dense values are read row by row, wherever the rows are.
      if (!downstream.contains(op) && llvm::any_of(op->getUses(), [&](OpOperand &use) {
            return use.getOwner() == root ? use.getOperandNumber() >= rowOperands
                                          : !ops.contains(use.getOwner());
          }))
        return "attention reads everything but rows from memory";
    }
    if (!llvm::all_of(root->getOperands().take_front(rowOperands), [&](Value rows) {
          return succeeded(
              StridedInput::foresee(rows, [&](Operation *op) { return ops.contains(op); }));
        }))
      return "attention takes rows at fixed distances";
    unsigned results = llvm::count_if(ops, [&](Operation *op) {
      return op == root ? escapes(root->getResult(0), ops) : escapes(op, ops);
    });
    if (results > 1)
      return "attention has one result beside its logsumexp";
    return {};
  }

  bool hasEpilogues() const override { return true; }
  bool hasImmediates() const override { return false; }

  FailureOr<int64_t> lowerToLoops(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                  const TargetAttr &target) const override {
    return lowerAttentionKernel(tensorKernel, loopKernel, target);
  }

  TemplateGenerator getTemplate() const override { return instantiateAttention; }
};
} // namespace

const KernelFamily &sinter::getAttentionFamily() {
  static const AttentionFamily family;
  return family;
}
