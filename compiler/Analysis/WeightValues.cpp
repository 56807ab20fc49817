#include "compiler/Analysis/WeightValues.h"
#include "dialects/Sinter/SinterDialect.h"

using namespace mlir;
using namespace sinter;

/// Values that are computed from arguments of these kinds alone.
static llvm::DenseSet<Value> findValuesFrom(func::FuncOp entry, ArrayRef<StringRef> kinds) {
  llvm::DenseSet<Value> values;
  for (BlockArgument argument : entry.getArguments())
    if (llvm::any_of(kinds, [&](StringRef kind) {
          return entry.getArgAttr(argument.getArgNumber(), kind) != nullptr;
        }))
      values.insert(argument);
  for (Operation &op : entry.front().without_terminator())
    if (llvm::all_of(op.getOperands(), [&](Value operand) { return values.contains(operand); }))
      values.insert(op.result_begin(), op.result_end());
  return values;
}

llvm::DenseSet<Value> sinter::findParameterValues(func::FuncOp entry) {
  return findValuesFrom(entry, {SinterDialect::kParameter, SinterDialect::kPreprocessed});
}

llvm::DenseSet<Value> sinter::findWeightValues(func::FuncOp entry) {
  return findValuesFrom(
      entry, {SinterDialect::kParameter, SinterDialect::kPreprocessed, SinterDialect::kState});
}

DenseI8ArrayAttr sinter::findCodeValues(Value matrix) {
  auto argument = dyn_cast<BlockArgument>(matrix);
  if (argument) {
    auto entry = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return entry ? entry.getArgAttrOfType<DenseI8ArrayAttr>(argument.getArgNumber(),
                                                            SinterDialect::kValues)
                 : nullptr;
  }
  Operation *op = matrix.getDefiningOp();
  if (!isa<MoveOpInterface, ConcatOp, AllSliceOp>(op))
    return nullptr;
  DenseI8ArrayAttr values = findCodeValues(op->getOperand(0));
  bool isCommon = llvm::all_of(op->getOperands(),
                               [&](Value operand) { return findCodeValues(operand) == values; });
  return isCommon ? values : nullptr;
}
