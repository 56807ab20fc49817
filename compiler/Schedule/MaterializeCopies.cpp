#include "compiler/Analysis/CostModel.h"
#include "compiler/Schedule/Buffers.h"
#include "compiler/Schedule/Passes.h"
#include "dialects/Sinter/SinterDialect.h"

namespace sinter {
#define GEN_PASS_DEF_MATERIALIZECOPIESPASS
#include "compiler/Schedule/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Whether the memory that was made for a value may be written.
static bool isWritable(Value root) {
  if (auto argument = dyn_cast<BlockArgument>(root))
    return getDonation(argument).has_value();
  return !root.getDefiningOp<ConstantOp>();
}

/// Whether the value that `operand` holds is needed beside that use: later, or by the same op.
static bool isNeededElsewhere(OpOperand &operand) {
  Operation *update = operand.getOwner();
  for (Value value : getReshapes(getVersion(operand.get())))
    for (OpOperand &use : value.getUses())
      if (&use != &operand && !isAlias(use.getOwner()) && !use.getOwner()->isBeforeInBlock(update))
        return true;
  return false;
}

namespace {
struct MaterializeCopiesPass : sinter::impl::MaterializeCopiesPassBase<MaterializeCopiesPass> {
  using MaterializeCopiesPassBase::MaterializeCopiesPassBase;

  void runOnOperation() override {
    for (func::FuncOp entry : getEntries(getOperation())) {
      BufferRoots roots;
      for (Operation &op : llvm::make_early_inc_range(entry.front()))
        if (auto inPlace = dyn_cast<InPlaceOpInterface>(op))
          copyOperands(inPlace, roots);
    }
  }

private:
  /// Gives each result that replaces an operand one that it may replace.
  void copyOperands(InPlaceOpInterface op, BufferRoots &roots) {
    for (OpResult result : op->getResults()) {
      OpOperand *operand = op.getInPlaceOperand(result);
      if (!operand || (isWritable(roots.get(operand->get())) && !isNeededElsewhere(*operand)))
        continue;
      OpBuilder builder(op);
      auto copy = CopyOp::create(builder, op.getLoc(), operand->get().getType(), operand->get());
      operand->set(copy);
    }
  }
};
} // namespace
