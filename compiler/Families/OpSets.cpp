#include "compiler/Families/OpSets.h"

using namespace mlir;
using namespace sinter;

bool sinter::isInside(Value value, const OpSet &ops) {
  return value.getDefiningOp() && ops.contains(value.getDefiningOp());
}

bool sinter::escapes(Value value, const OpSet &ops) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return !ops.contains(user); });
}

bool sinter::escapes(Operation *op, const OpSet &ops) {
  return llvm::any_of(op->getResults(), [&](Value result) { return escapes(result, ops); });
}

llvm::SmallPtrSet<Operation *, 16> sinter::findDownstream(ArrayRef<Operation *> roots,
                                                          const OpSet &ops) {
  llvm::SmallPtrSet<Operation *, 16> reached;
  SmallVector<Operation *> open(roots);
  while (!open.empty())
    for (Operation *user : open.pop_back_val()->getUsers())
      if (ops.contains(user) && reached.insert(user).second)
        open.push_back(user);
  return reached;
}

bool sinter::isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

bool sinter::isColumnSlice(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return slice && slice.getType().getShape().drop_back() ==
                      slice.getOperand().getType().getShape().drop_back();
}

bool sinter::isForGpu(Operation *op) {
  TargetAttr target = TargetAttr::lookup(op);
  return target && target.isGpu();
}
