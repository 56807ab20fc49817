#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

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

SmallVector<int64_t> sinter::findReusableArguments(Block &block) {
  Operation *terminator = block.getTerminator();
  if (terminator->getNumOperands() != 1)
    return {};
  Type type = terminator->getOperand(0).getType();
  auto isElementwise = [&](Operation *op) {
    return isa<ElementwiseOpInterface>(op) && op->getNumResults() == 1 &&
           cast<RankedTensorType>(op->getResultTypes()[0]).getShape() ==
               cast<RankedTensorType>(type).getShape();
  };
  // Other ops may only feed what does not depend on an argument of the result's type.
  SmallVector<int64_t> reusable;
  for (BlockArgument argument : block.getArguments())
    if (argument.getType() == type && !argument.use_empty() &&
        terminator->getOperand(0) != argument && llvm::all_of(argument.getUsers(), isElementwise))
      reusable.push_back(argument.getArgNumber());
  for (Operation &op : block.without_terminator())
    if (!isElementwise(&op) && !isa<ConstantOp, BroadcastOp>(op))
      return {};
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

static func::FuncOp lookupKernel(CallKernelOp op) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getKernelAttr());
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
