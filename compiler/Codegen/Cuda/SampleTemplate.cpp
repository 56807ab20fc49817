#include "compiler/Codegen/Cuda/TemplateInstance.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Codegen/Loops/AttentionOperands.h"

using namespace mlir;
using namespace sinter;

FailureOr<CudaLaunch> sinter::instantiateSample(func::FuncOp kernel, func::FuncOp function,
                                                const TargetAttr &, int64_t) {
  FailureOr<SampleOp> op = findOnly<SampleOp>(kernel, "a choice of tokens");
  if (failed(op))
    return failure();
  if (kernel.front().getOperations().size() != 2)
    return kernel.emitError("expected a sample to be a kernel of its own");
  RankedTensorType logits = op->getLogits().getType();

  TemplateInstance instance("sample", "sample", kernel.getContext());
  instance.set("batch", logits.getDimSize(0));
  instance.set("vocabulary", logits.getDimSize(1));
  for (Value operand : op->getOperands())
    instance.pass(cast<BlockArgument>(operand).getArgNumber());
  instance.pass(kernel.getNumArguments());
  instance.write(function, /*usesShared=*/false);
  constexpr int64_t kThreads = 512;
  return CudaLaunch{logits.getDimSize(0), kThreads};
}
