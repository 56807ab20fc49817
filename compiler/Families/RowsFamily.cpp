#include "compiler/Analysis/Recomputation.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "compiler/Families/Families.h"
#include "compiler/Families/OpSets.h"

using namespace mlir;
using namespace sinter;

/// Rows with others behind them: whole rows stay where they are.
static bool isColumnConcat(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  return concat && static_cast<int64_t>(concat.getDim()) == concat.getType().getRank() - 1;
}

/// A broadcast that repeats one value a row over the row.
static bool spreadsRows(Operation *op) {
  auto broadcast = dyn_cast<BroadcastOp>(op);
  if (!broadcast)
    return false;
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    if (dim != static_cast<int64_t>(i))
      return false;
  return true;
}

/// Whether a value is more than elements of what is in memory, in other places.
static bool isComputedInside(Value value, const OpSet &ops) {
  if (!isInside(value, ops))
    return false;
  Operation *op = value.getDefiningOp();
  return getRole(op) != FusionRole::Index ||
         llvm::any_of(op->getOperands(), [&](Value v) { return isComputedInside(v, ops); });
}

/// A maximum is the same in any order.
static bool isMaximum(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getKind() == ReductionKind::Max;
}

/// Whether each element that a reduction goes over is reduced from a row of its own. One loop would
/// run inside of the other, which then goes over its elements one by one and not in vectors.
static bool reducesReductions(Operation *op, const OpSet &ops) {
  SetVector<Value> open(op->operand_begin(), op->operand_end());
  for (size_t i = 0; i < open.size(); ++i) {
    Operation *maker = open[i].getDefiningOp();
    if (!maker || !ops.contains(maker) || spreadsRows(maker))
      continue;
    if (getRole(maker) != FusionRole::RowReduction)
      open.insert(maker->operand_begin(), maker->operand_end());
    else if (typeOf(open[i]).getShape() != typeOf(maker->getOperand(0)).getShape())
      return true;
  }
  return false;
}

/// Whether a reshape makes rows of several that lie apart, columns of longer ones. A thread of a
/// GPU takes vectors of what lies together, and so the order of a sum would be another.
static bool joinsRows(Operation *op, const OpSet &ops) {
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape || !isForGpu(op) || !isInside(reshape.getOperand(), ops))
    return false;
  ArrayRef<int64_t> from = reshape.getOperand().getType().getShape();
  ArrayRef<int64_t> to = reshape.getType().getShape();
  return isColumnSlice(reshape.getOperand().getDefiningOp()) && !from.empty() && !to.empty() &&
         from.back() % to.back() != 0;
}

/// How rows kernels are generated for a GPU.
static RowsOptions getGpuOptions(const TargetAttr &target) {
  RowsOptions options;
  options.bufferBytes = std::min(options.bufferBytes, target.getL1Bytes());
  options.keepsLoads = options.keepsSums = true;
  options.callsLibrary = options.approximates = true;
  options.sumItems = 2 * target.getCores();
  options.sumColumns = 32;
  options.sumGroups = 16;
  options.pieces = target.getCores();
  return options;
}

namespace {
struct RowsFamily : KernelFamily {
  RowsFamily() : KernelFamily(kRowsFamily) {}

  StringRef findObstacle(const OpSet &ops, Operation *) const override {
    SmallVector<Operation *> reductions;
    llvm::copy_if(ops, std::back_inserter(reductions), [](Operation *op) {
      return getRole(op) == FusionRole::RowReduction || getRole(op) == FusionRole::ColumnReduction;
    });
    auto reduced = findDownstream(reductions, ops);
    auto isReduced = [&](Value value) {
      Operation *op = value.getDefiningOp();
      return op && (reduced.contains(op) || llvm::is_contained(reductions, op));
    };
    for (Operation *op : ops) {
      switch (getRole(op)) {
      case FusionRole::Index:
        // Spreading a value a row over the row is what reductions are for; reshapes keep order.
        if (llvm::any_of(op->getOperands(), isReduced) && !isAlias(op) && !isColumnSlice(op) &&
            !isColumnConcat(op) && !spreadsRows(op))
          return "rows would be reduced again for every element";
        // Loops over what is put together branch or are cut, and the order of a sum with them.
        if (isa<ConcatOp>(op) || joinsRows(op, ops)) {
          auto users = findDownstream(op, ops);
          if (llvm::any_of(reductions, [&](Operation *sum) { return users.contains(sum); }))
            return "rows that are reduced are put together before";
        }
        break;
      case FusionRole::RowReduction:
        // A sum has one order whatever it is fused with.
        if (!isMaximum(op) && reducesReductions(op, ops))
          return "sums of rows are added up from memory";
        break;
      case FusionRole::ColumnReduction:
        // A sum is there when the last row of its block has been added.
        for (Value result : op->getResults())
          if (isColumnSum(result) &&
              llvm::any_of(result.getUsers(), [&](Operation *user) { return ops.contains(user); }))
            return "sums of columns are read from memory";
        break;
      case FusionRole::Gather: {
        // But for a rotary's, whose own rows stay where they are.
        Value chosen = op->getOperand(0);
        if (!isa<RotaryOp>(op) && isComputedInside(chosen, ops))
          return "rows are chosen from what is in memory";
        break;
      }
      case FusionRole::Update: {
        auto update = cast<InPlaceOpInterface>(op);
        for (OpResult result : op->getResults()) {
          OpOperand *target = update.getInPlaceOperand(result);
          if (target && isInside(target->get(), ops))
            return "an update's memory comes from outside";
          // Another op would see some rows before and some after the update.
          if (target && llvm::any_of(target->get().getUses(), [&](OpOperand &use) {
                return &use != target && ops.contains(use.getOwner());
              }))
            return "what is updated is read by another op";
          if (llvm::any_of(result.getUsers(), [&](Operation *user) { return ops.contains(user); }))
            return "what is updated is read from memory";
        }
        break;
      }
      case FusionRole::Opaque:
        if (ops.size() > 1)
          return "the op runs alone";
        break;
      default:
        break;
      }
    }
    if (!findRecomputation(ops).empty())
      return "a reduction would be computed again and again";
    return {};
  }

  FailureOr<int64_t> lowerToLoops(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                  const TargetAttr &target) const override {
    return lowerRowsKernel(tensorKernel, loopKernel,
                           target.isGpu() ? getGpuOptions(target) : RowsOptions());
  }
};
} // namespace

const KernelFamily &sinter::getRowsFamily() {
  static const RowsFamily family;
  return family;
}
