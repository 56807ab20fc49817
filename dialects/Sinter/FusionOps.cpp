#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace sinter;

SmallVector<ReferenceTensor> sinter::evaluateBlock(Block &block,
                                                   ArrayRef<ReferenceTensor> arguments) {
  llvm::DenseMap<Value, ReferenceTensor> values;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  auto lookup = [&](ValueRange operands) {
    SmallVector<ReferenceTensor> found;
    for (Value operand : operands)
      found.push_back(values.at(operand));
    return found;
  };
  for (Operation &op : block.without_terminator()) {
    auto results = cast<ReferenceOpInterface>(op).evaluate(lookup(op.getOperands()));
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
      values[result] = std::move(value);
  }
  return lookup(block.getTerminator()->getOperands());
}

BlockArgument sinter::findInPlaceArgument(Block &block, unsigned index) {
  Value value = block.getTerminator()->getOperand(index);
  while (auto result = dyn_cast<OpResult>(value)) {
    auto inPlace = dyn_cast<InPlaceOpInterface>(result.getOwner());
    OpOperand *operand = inPlace ? inPlace.getInPlaceOperand(result) : nullptr;
    if (!operand)
      return nullptr;
    value = operand->get();
  }
  // A block that yields its argument as it is computes nothing in its place.
  return value == block.getTerminator()->getOperand(index) ? nullptr : cast<BlockArgument>(value);
}

/// Whether a broadcast repeats one value a row over the row.
static bool spreadsRows(BroadcastOp op) {
  return op.getType().getRank() == op.getOperand().getType().getRank() + 1 &&
         llvm::equal(op.getDims(), llvm::seq<int64_t>(0, op.getDims().size()));
}

SmallVector<int64_t> sinter::findReusableArguments(Block &block) {
  Operation *terminator = block.getTerminator();
  if (terminator->getNumOperands() == 0)
    return {};
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  Value result = terminator->getOperand(0);
  for (Value other : terminator->getOperands().drop_front())
    if (getStorageBytes(other.getType()) > getStorageBytes(result.getType()))
      result = other;
  auto type = cast<RankedTensorType>(result.getType());
  auto isPerRow = [&](Value value) {
    return type.getRank() > 0 && shapeOf(value) == type.getShape().drop_back();
  };
  auto getRole = [](Operation *op) { return cast<FusibleOpInterface>(op).getFusionRole(); };
  // The rows before a product are read for all of its columns, some of which are written by then.
  bool multiplies = llvm::any_of(block.without_terminator(), [&](Operation &op) {
    return !isa<ConstantOp>(op) && getRole(&op) == FusionRole::Contraction;
  });
  // An element of the same place, or a whole row: that is read before its first element is written.
  auto reads = [&](OpOperand &use) {
    Operation *op = use.getOwner();
    if (op->getNumResults() != 1)
      return false;
    bool isRows = shapeOf(op->getResult(0)) == type.getShape();
    if (getRole(op) == FusionRole::Elementwise)
      return isRows;
    return (isRows || isPerRow(op->getResult(0))) && use.getOperandNumber() == 0 &&
           ((getRole(op) == FusionRole::RowReduction && !multiplies) || isa<PickOp>(op));
  };
  // Values a row are there before the first row is written.
  for (Value other : terminator->getOperands())
    if (other != result &&
        (!isPerRow(other) || getStorageBytes(other.getType()) == getStorageBytes(type)))
      return {};
  SmallVector<int64_t> reusable;
  for (BlockArgument argument : block.getArguments())
    if (argument.getType() == type && !argument.use_empty() && result != argument &&
        llvm::all_of(argument.getUses(), reads))
      reusable.push_back(argument.getArgNumber());
  // What is not computed from such arguments reads none of their memory.
  llvm::DenseSet<Value> dependent;
  auto dependsOnReusable = [&](Value value) {
    return dependent.contains(value) || (isa<BlockArgument>(value) && value.getType() == type);
  };
  for (Operation &op : block.without_terminator()) {
    if (llvm::none_of(op.getOperands(), dependsOnReusable))
      continue;
    dependent.insert(op.result_begin(), op.result_end());
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      Operation *source = broadcast.getOperand().getDefiningOp();
      if (source && !isa<ConstantOp, BroadcastOp>(source) && !spreadsRows(broadcast))
        return {};
      continue;
    }
    bool fits = op.getNumResults() == 1 &&
                (shapeOf(op.getResult(0)) == type.getShape() || isPerRow(op.getResult(0)));
    // A product's operands are no such arguments: of those, it only takes what it is added to.
    bool computes = llvm::is_contained({FusionRole::Elementwise, FusionRole::RowReduction,
                                        FusionRole::Contraction},
                                       getRole(&op)) ||
                    isa<PickOp>(op);
    if (!fits || !computes)
      return {};
    for (OpOperand &operand : op.getOpOperands())
      if (operand.get().getDefiningOp() && shapeOf(operand.get()) == type.getShape() &&
          !reads(operand))
        return {};
  }
  return reusable;
}

//===----------------------------------------------------------------------===//
// FusionOp
//===----------------------------------------------------------------------===//

int64_t FusionOp::getFlops() {
  int64_t flops = 0;
  for (Operation &op : getBlock()->without_terminator())
    flops += cast<CostOpInterface>(op).getFlops();
  return flops;
}
FusionRole FusionOp::getFusionRole() { return FusionRole::Opaque; }

LogicalResult FusionOp::verify() {
  if (getBlock()->getArgumentTypes() != getInputs().getTypes()) // fusion_c1
    return emitOpError("expected block arguments of the operands' types");
  if (getYielded().getTypes() != getOutputs().getTypes()) // fusion_c2
    return emitOpError("expected yielded values of the results' types");
  return success();
}

OpOperand *FusionOp::getInPlaceOperand(OpResult result) {
  BlockArgument argument = findInPlaceArgument(*getBlock(), result.getResultNumber());
  return argument ? &getOperation()->getOpOperand(argument.getArgNumber()) : nullptr;
}

SmallVector<ReferenceTensor> FusionOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return evaluateBlock(*getBlock(), operands);
}

//===----------------------------------------------------------------------===//
// CallKernelOp
//===----------------------------------------------------------------------===//

/// A symbol table's own lookup goes through every op's attributes by name; who is in whose place is
/// asked too often for that.
static func::FuncOp lookupKernel(CallKernelOp op) {
  StringAttr name = op.getKernelAttr().getAttr();
  for (auto function : op->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    if (function.getSymNameAttr() == name)
      return function;
  return nullptr;
}

int64_t CallKernelOp::getFlops() {
  int64_t flops = 0;
  for (Operation &op : lookupKernel(*this).front().without_terminator())
    flops += cast<CostOpInterface>(op).getFlops();
  return flops;
}
FusionRole CallKernelOp::getFusionRole() { return FusionRole::Opaque; }

LogicalResult CallKernelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel || !kernel->hasAttr(SinterDialect::kKernel)) // call_kernel_c1
    return emitOpError("expected a kernel (a func.func with sinter.kernel) named ") << getKernel();
  if (kernel.getArgumentTypes() != getInputs().getTypes() ||
      kernel.getResultTypes() != getOutputs().getTypes()) // call_kernel_c2
    return emitOpError("expected the kernel's type, ") << kernel.getFunctionType();
  return success();
}

OpOperand *CallKernelOp::getInPlaceOperand(OpResult result) {
  BlockArgument argument =
      findInPlaceArgument(lookupKernel(*this).front(), result.getResultNumber());
  return argument ? &getOperation()->getOpOperand(argument.getArgNumber()) : nullptr;
}

SmallVector<ReferenceTensor> CallKernelOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return evaluateBlock(lookupKernel(*this).front(), operands);
}
