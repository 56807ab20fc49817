#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Families/Families.h"
#include "compiler/Families/OpSets.h"

using namespace mlir;
using namespace sinter;

/// A broadcast of a scalar, or of rows over all other rows.
static bool isRowBroadcast(Operation *op) {
  auto broadcast = dyn_cast<BroadcastOp>(op);
  if (!broadcast)
    return false;
  int64_t shift = broadcast.getType().getRank() - broadcast.getOperand().getType().getRank();
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    if (dim != static_cast<int64_t>(i) + shift)
      return broadcast.getOperand().getType().getNumElements() == 1;
  return true;
}

/// Whether a product is a processor's of panels.
static bool readsPanels(Operation *root) {
  return isa_and_nonnull<PanelsAttr>(typeOf(root->getOperand(1)).getEncoding()) && !isForGpu(root);
}

/// Whether a slice of a product of panels begins where the columns of a work item do.
static bool startsAtItem(Operation *root, Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return !slice || !readsPanels(root) || slice.getOffsets().back() % kItemColumns == 0;
}

/// Whether a value is there only after the product: it is computed behind it, by more than moving
/// and elementwise work on what was there before.
static bool isComputedAfter(Value value, Operation *root) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !root->isBeforeInBlock(op) || !seen.insert(op).second)
      continue;
    FusionRole role = getRole(op);
    if (role != FusionRole::Elementwise && role != FusionRole::Index)
      return true;
    open.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

namespace {
struct GemmFamily : KernelFamily {
  GemmFamily() : KernelFamily(kGemmFamily) {}

  bool isRoot(Operation *op) const override { return isa<MatmulOp>(op); }

  StringRef findObstacle(const OpSet &ops, Operation *root) const override {
    if (llvm::any_of(root->getOperands(), [&](Value v) { return isInside(v, ops); }))
      return "a product reads its operands from memory";
    auto downstream = findDownstream(root, ops);
    int64_t rows = getRows(root->getResult(0).getType()), columns = 0;
    for (Operation *op : ops) {
      if (op != root) {
        FusionRole role = getRole(op);
        if (role != FusionRole::Elementwise && role != FusionRole::Index)
          return "an epilogue is made of elementwise ops";
        if (!isFloat(op->getResult(0).getType()) || !llvm::all_of(op->getOperandTypes(), isFloat))
          return "an epilogue computes on floating-point numbers";
        if (role == FusionRole::Index && !isAlias(op) && !isColumnSlice(op) &&
            (downstream.contains(op) || !isRowBroadcast(op)))
          return "an epilogue needs the elements of its own rows";
        if (downstream.contains(op) && !startsAtItem(root, op))
          return "columns of the product are not whole work items";
        // In a sum of products each adds to those before it, in place; else they would all wait for
        // the last one.
        if (downstream.contains(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
              return !isInside(operand, ops) && isComputedAfter(operand, root);
            }))
          return "an epilogue reads what is there when the product is";
        if (!downstream.contains(op) && isa<SliceOp>(op) &&
            typeOf(op->getResult(0)).getShape().back() !=
                typeOf(root->getResult(0)).getShape().back())
          return "an epilogue reads rows as long as the product's";
      }
      if (!escapes(op, ops))
        continue;
      if (op != root && !downstream.contains(op))
        return "a result does not need the product";
      int64_t count = typeOf(op->getResult(0)).getNumElements();
      if (count % rows != 0 || (columns != 0 && columns != count / rows))
        return "results of a product have its rows and equal columns";
      columns = count / rows;
    }
    if (!readsPanels(root) && !matchLibraryGemm(ops))
      return "the library has no such epilogue";
    return {};
  }

  Cost getCost(const OpSet &ops, const CostModel &costs) const override {
    Cost generated = costs.getFusedCost(ops);
    if (!costs.getTarget().isGpu())
      return generated;
    std::optional<LibraryGemm> gemm = matchLibraryGemm(ops);
    if (!gemm || !gemm->fitsLibrary())
      return generated;
    Cost library = costs.getFusedCost(ops, GemmChoice::Library);
    return library.ns < generated.ns ? library : generated;
  }

  bool hasEpilogues() const override { return true; }

  FailureOr<int64_t> lowerToLoops(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                  const TargetAttr &target) const override {
    return lowerGemmKernel(tensorKernel, loopKernel, target);
  }

  TemplateGenerator getTemplate() const override { return instantiateGemm; }
};
} // namespace

const KernelFamily &sinter::getGemmFamily() {
  static const GemmFamily family;
  return family;
}
