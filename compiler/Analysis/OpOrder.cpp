#include "compiler/Analysis/OpOrder.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

void sinter::orderByNeed(Block &block) {
  SmallVector<Operation *> order;
  llvm::DenseSet<Operation *> placed;
  // Ops on the way to being placed, each with the operand that is looked at next; a deep graph
  // must not become a deep recursion.
  SmallVector<std::pair<Operation *, unsigned>> open;
  for (Operation &op : block) {
    open.emplace_back(&op, 0);
    while (!open.empty()) {
      auto &[next, operand] = open.back();
      if (placed.contains(next)) {
        open.pop_back();
      } else if (operand == next->getNumOperands()) {
        placed.insert(next);
        order.push_back(next);
        open.pop_back();
      } else {
        Operation *producer = next->getOperand(operand++).getDefiningOp();
        if (producer && producer->getBlock() == &block && !placed.contains(producer))
          open.emplace_back(producer, 0);
      }
    }
  }
  for (Operation *op : order)
    op->moveBefore(&block, block.end());
}
