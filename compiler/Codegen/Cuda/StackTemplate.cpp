#include "compiler/Codegen/Cuda/TemplateInstance.h"
#include "compiler/Codegen/Cuda/Templates.h"

using namespace mlir;
using namespace sinter;

FailureOr<CudaLaunch> sinter::instantiateStack(func::FuncOp kernel, func::FuncOp function,
                                               const TargetAttr &, int64_t) {
  auto concats = kernel.front().getOps<ConcatOp>();
  if (!llvm::hasSingleElement(concats) || kernel.getNumResults() != 1)
    return kernel.emitError("expected matrices that are put together, and one result");
  ConcatOp concat = *concats.begin();
  auto partType = cast<RankedTensorType>(concat.getOperands().front().getType());
  for (Value part : concat.getOperands())
    if (!isa<BlockArgument>(part) || part.getType() != partType)
      return concat.emitError("expected arguments of one type");
  int64_t parts = concat.getNumOperands(), size = partType.getNumElements();
  // Outside of panels integers of four bits have a byte each.
  auto getStored = [&](Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isInteger(4) ? IntegerType::get(kernel.getContext(), 8) : element;
  };
  Type element = getStored(partType), out = getStored(kernel.getResultTypes()[0]);
  TemplateInstance instance("stack", "stack", kernel.getContext());
  instance.set("Element", element);
  instance.set("Out", out);
  instance.set("parts", parts);
  instance.set("size", size);
  instance.pass(kernel.getNumArguments());
  for (Value part : concat.getOperands())
    instance.pass(cast<BlockArgument>(part).getArgNumber());
  instance.write(function, /*usesShared=*/false);
  constexpr int64_t threads = 256, pieceVectors = 4, vectorBytes = 16;
  int64_t bits = std::max(element.getIntOrFloatBitWidth(), out.getIntOrFloatBitWidth());
  int64_t width = vectorBytes * 8 / bits;
  int64_t piece = threads * pieceVectors * (size % width == 0 ? width : 1);
  return CudaLaunch{.grid = parts * llvm::divideCeilSigned(size, piece), .block = threads};
}
