#include "compiler/Codegen/Cuda/TemplateInstance.h"
#include "compiler/Codegen/Cuda/Templates.h"

using namespace mlir;
using namespace sinter;

FailureOr<CudaLaunch> sinter::instantiateRouting(func::FuncOp kernel, func::FuncOp function,
                                                 const TargetAttr &, int64_t) {
  if (!llvm::hasSingleElement(kernel.front().without_terminator()))
    return kernel.emitError("expected a choice of experts to be alone in its kernel");
  Operation *op = &kernel.front().front();
  bool isChoice = isa<TopKOp>(op);
  TemplateInstance instance("routing", isChoice ? "top_k" : "route", kernel.getContext());
  CudaLaunch launch;
  launch.waits = true;
  if (isChoice) {
    auto choice = cast<TopKOp>(op);
    RankedTensorType operand = choice.getOperand().getType();
    if (operand.getElementTypeBitWidth() > 32)
      return choice.emitError("expected numbers of at most 32 bits, got ") << operand;
    constexpr int64_t warps = 4, threads = 128;
    int64_t width = operand.getShape().back(), rows = operand.getNumElements() / width;
    instance.set("Element", operand.getElementType());
    instance.set("rows", rows);
    instance.set("width", width);
    instance.set("k", choice.getValues().getType().getShape().back());
    launch.grid = llvm::divideCeil(rows, warps);
    launch.block = threads;
  } else {
    auto route = cast<RouteOp>(op);
    constexpr int64_t threads = 512;
    int64_t experts = route.getOffsets().getType().getDimSize(0) - 1;
    instance.set("tokens", route.getIds().getType().getDimSize(0));
    instance.set("k", route.getIds().getType().getDimSize(1));
    instance.set("experts", experts);
    launch.grid = experts;
    launch.block = threads;
  }
  instance.pass(cast<BlockArgument>(op->getOperand(0)).getArgNumber());
  // A result that nobody needs is none of the kernel's.
  OperandRange returned = kernel.front().getTerminator()->getOperands();
  for (Value result : op->getResults()) {
    auto found = llvm::find(returned, result);
    instance.pass(found == returned.end()
                      ? std::nullopt
                      : std::optional<unsigned>(kernel.getNumArguments() +
                                                std::distance(returned.begin(), found)));
  }
  instance.write(function, /*usesShared=*/false);
  return launch;
}
