#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Loops/Kernels.h"

namespace sinter {
#define GEN_PASS_DEF_VERIFYCODEGENPASS
#include "compiler/Codegen/Cpu/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct VerifyCodegenPass : sinter::impl::VerifyCodegenPassBase<VerifyCodegenPass> {
  using VerifyCodegenPassBase::VerifyCodegenPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    ModuleOp code = lookupKernels(getOperation());
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(SinterDialect::kKernel) && failed(verifyKernel(kernel, code)))
        return signalPassFailure();
    if (code && failed(verifyCode(code)))
      signalPassFailure();
  }

private:
  LogicalResult verifyKernel(func::FuncOp kernel, ModuleOp code) {
    auto grid = kernel->getAttrOfType<IntegerAttr>(kGridAttribute);
    if (!grid || grid.getInt() < 0)
      return kernel.emitError("expected a kernel to say how many work items it has (")
             << kGridAttribute << ") after Codegen";
    auto function = code ? code.lookupSymbol<LLVM::LLVMFuncOp>(kernel.getName()) : nullptr;
    MLIRContext *context = &getContext();
    Type word = IntegerType::get(context, 64);
    auto convention = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(context), {LLVM::LLVMPointerType::get(context), word, word});
    if (!function || function.getFunctionType() != convention)
      return kernel.emitError("expected @")
             << kKernelsModule << " to hold the kernel as " << convention << " after Codegen";
    return success();
  }

  LogicalResult verifyCode(ModuleOp code) {
    auto foreign = code.getBody()->walk<WalkOrder::PreOrder>([](Operation *op) {
      if (!isa<LLVM::LLVMDialect>(op->getDialect())) {
        op->emitError("expected only ops of the LLVM dialect in kernels after Codegen");
        return WalkResult::interrupt();
      }
      auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
      if (function && function.isExternal() && !function.getName().starts_with("llvm.")) {
        function.emitError("expected kernels to call nothing outside of them after Codegen");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(foreign.wasInterrupted());
  }
};
} // namespace
