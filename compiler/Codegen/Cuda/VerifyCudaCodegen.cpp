#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Codegen/Cuda/ThreadLoops.h"

namespace sinter {
#define GEN_PASS_DEF_VERIFYCUDACODEGENPASS
#include "compiler/Codegen/Cuda/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Threads that a block may have on any device.

namespace {
struct VerifyCudaCodegenPass : sinter::impl::VerifyCudaCodegenPassBase<VerifyCudaCodegenPass> {
  using VerifyCudaCodegenPassBase::VerifyCudaCodegenPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    ModuleOp module = getOperation(), code = lookupKernels(module);
    for (auto kernel : module.getOps<func::FuncOp>())
      if (kernel->hasAttr(SinterDialect::kKernel) && failed(verifyKernel(kernel, code)))
        return signalPassFailure();
  }

private:
  LogicalResult verifyKernel(func::FuncOp kernel, ModuleOp code) {
    std::optional<CudaLaunch> launch = getLaunch(kernel);
    if (!launch || launch->grid < 0)
      return kernel.emitError("expected a kernel to say how it is launched (")
             << kGridAttribute << ", " << kBlockAttribute << ", " << kSharedAttribute
             << ") after Codegen";
    if (launch->block < 1 || launch->block > kLargestBlock)
      return kernel.emitError("expected a block of 1 to ")
             << kLargestBlock << " threads, got " << launch->block;
    TargetAttr target = TargetAttr::lookup(getOperation());
    if (target && launch->sharedBytes > target.getL1Bytes())
      return kernel.emitError("expected a block to take at most ")
             << target.getL1Bytes() << " bytes of shared memory, got " << launch->sharedBytes;
    auto function = code ? code.lookupSymbol<func::FuncOp>(kernel.getName()) : nullptr;
    if (!function || function.getNumResults() != 0 ||
        function.getNumArguments() !=
            kernel.getNumArguments() + kernel.getNumResults() + (launch->scratchBytes != 0) ||
        !llvm::all_of(function.getArgumentTypes(), llvm::IsaPred<MemRefType>))
      return kernel.emitError("expected @")
             << kKernelsModule
             << " to hold the kernel over one memref an operand, a result and its "
             << "scratch";
    if (function.isExternal() != function->hasAttr(kTemplateAttribute))
      return function.emitError("expected a kernel to have either code or a template (")
             << kTemplateAttribute << ")";
    auto whole = function.walk([](Operation *op) {
      if (!isSpread(op))
        return WalkResult::advance();
      op->emitError("expected no loop that is yet to be spread over threads after Codegen");
      return WalkResult::interrupt();
    });
    return failure(whole.wasInterrupted());
  }
};
} // namespace
