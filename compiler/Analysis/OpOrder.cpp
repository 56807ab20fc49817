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

void sinter::orderByAvailability(Block &block) {
  SmallVector<Operation *> order;
  llvm::DenseMap<Operation *, unsigned> missing;
  for (Operation &op : block) {
    llvm::SmallPtrSet<Operation *, 4> producers;
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == &block && producers.insert(producer).second)
        ++missing[&op];
  }
  llvm::DenseSet<Operation *> reached;
  SmallVector<Operation *> open;
  for (Operation &op : block) {
    reached.insert(&op);
    if (missing.lookup(&op) == 0)
      open.push_back(&op);
    while (!open.empty()) {
      Operation *next = open.pop_back_val();
      order.push_back(next);
      // Those that waited for this one alone, in the order in which they stand.
      SmallVector<Operation *> ready;
      llvm::SmallPtrSet<Operation *, 8> users(next->user_begin(), next->user_end());
      for (Operation *user : users)
        if (user->getBlock() == &block && --missing[user] == 0 && reached.contains(user))
          ready.push_back(user);
      llvm::sort(ready, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
      open.append(ready);
    }
  }
  for (Operation *op : order)
    op->moveBefore(&block, block.end());
}
