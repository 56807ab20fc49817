#include "compiler/Codegen/Cuda/TemplateInstance.h"
#include "compiler/Codegen/Cuda/Templates.h"
#include "compiler/Codegen/Loops/AttentionOperands.h"

using namespace mlir;
using namespace sinter;

namespace {
/// The sizes of a launch, as sample.cuh computes them.
struct SampleShape {
  static constexpr int64_t threads = 512, warps = 16;
  int64_t blocks, scratchBytes;

  SampleShape(int64_t batch, int64_t vocabulary)
      : blocks(std::clamp<int64_t>(
            std::min<int64_t>(llvm::divideCeil(vocabulary, 2048), 132 / batch), 1, 16)) {
    int64_t part = 4 * llvm::divideCeil(llvm::divideCeil(vocabulary + 3, 4), blocks);
    scratchBytes = static_cast<int64_t>(llvm::alignTo(4 * batch, 16)) +
                   batch * blocks * (8 * warps + 16 + 8 * std::min<int64_t>(8192, part));
  }
};
} // namespace

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
  instance.pass(kernel.getNumArguments() + 1);
  instance.write(function, /*usesShared=*/false);
  SampleShape shape(logits.getDimSize(0), logits.getDimSize(1));
  return CudaLaunch{.grid = logits.getDimSize(0) * shape.blocks,
                    .block = SampleShape::threads,
                    .scratchBytes = shape.scratchBytes,
                    .waits = true};
}
