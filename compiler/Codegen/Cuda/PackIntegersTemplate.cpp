#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Codegen/Cuda/TemplateInstance.h"
#include "compiler/Codegen/Cuda/Templates.h"

using namespace mlir;
using namespace sinter;

FailureOr<CudaLaunch> sinter::instantiatePackIntegers(func::FuncOp kernel, func::FuncOp function,
                                                      const TargetAttr &, int64_t) {
  auto op = dyn_cast<PackOp>(kernel.front().front());
  if (!op || kernel.front().getOperations().size() != 2)
    return kernel.emitError("expected a pack to be a kernel of its own");
  RankedTensorType type = op.getOperand().getType();
  if (!type.getElementType().isInteger(4) || type.getRank() < 2 ||
      op.getType().getEncoding() != getRowPanel(type))
    return op->emitError(
               "expected rows of integers of four bits, to be packed into one panel, got ")
           << type << " and " << op.getType();
  int64_t columns = type.getShape().back(), rows = type.getNumElements() / columns;
  TemplateInstance instance("pack_integers", "pack_integers", kernel.getContext());
  instance.set("rows", rows);
  instance.set("columns", columns);
  instance.pass(0);
  instance.pass(1);
  instance.write(function, /*usesShared=*/false);
  constexpr int64_t pieceElements = 32, threads = 256;
  int64_t pieces = rows * static_cast<int64_t>(llvm::divideCeil(columns, pieceElements));
  return CudaLaunch{static_cast<int64_t>(llvm::divideCeil(pieces, threads)), threads};
}
