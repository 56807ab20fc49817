#include "compiler/Codegen/Cuda/TemplateInstance.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Codegen/Loops/AttentionOperands.h"

using namespace mlir;
using namespace sinter;

FailureOr<CudaLaunch> sinter::instantiateEmbeddingGrad(func::FuncOp kernel, func::FuncOp function,
                                                       const TargetAttr &, int64_t) {
  FailureOr<EmbeddingGradOp> op = findOnly<EmbeddingGradOp>(kernel, "an embedding's gradient");
  if (failed(op))
    return failure();
  if (kernel.front().getOperations().size() != 2)
    return kernel.emitError("expected an embedding_grad to be a kernel of its own");
  RankedTensorType type = op->getType();
  if (!type.getElementType().isF32())
    return op->emitError("expected a result of f32, got ") << type;
  int64_t rows = type.getDimSize(0), width = type.getDimSize(1);

  TemplateInstance instance("embedding_grad", "embedding_grad", kernel.getContext());
  instance.set("Element", op->getGradient().getType().getElementType());
  instance.set("tokens", op->getIds().getType().getNumElements());
  instance.set("rows", rows);
  instance.set("width", width);
  instance.set("hasPadding", op->getPadding().has_value());
  instance.set("padding", static_cast<int64_t>(op->getPadding().value_or(0)));
  instance.set("hasInto", static_cast<bool>(op->getInto()));
  instance.set("hasStart", static_cast<bool>(op->getStart()));
  auto pass = [&](Value operand) {
    instance.pass(operand ? std::optional(cast<BlockArgument>(operand).getArgNumber())
                          : std::nullopt);
  };
  pass(op->getIds());
  pass(op->getGradient());
  pass(op->getInto());
  pass(op->getStart());
  instance.pass(kernel.getNumArguments());
  instance.write(function, /*usesShared=*/true);
  constexpr int64_t kRows = 64, kThreads = 128, kWarps = 4, kIds = 8;
  int64_t rowParts = llvm::divideCeil(rows, kRows), columnParts = llvm::divideCeil(width, kThreads);
  return CudaLaunch{rowParts * columnParts, kThreads,
                    4 * (kRows * kThreads + kIds * (kThreads + kWarps))};
}
