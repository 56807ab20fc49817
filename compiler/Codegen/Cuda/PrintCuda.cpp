#include "compiler/Codegen/Cuda/CudaPrinter.h"
#include "compiler/Codegen/Cuda/Passes.h"

namespace sinter {
#define GEN_PASS_DEF_PRINTCUDAPASS
#include "compiler/Codegen/Cuda/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct PrintCudaPass : sinter::impl::PrintCudaPassBase<PrintCudaPass> {
  using PrintCudaPassBase::PrintCudaPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    ModuleOp module = getOperation(), code = lookupKernels(module);
    if (!code)
      return;
    std::string text;
    llvm::raw_string_ostream out(text);
    for (auto kernel : code.getOps<func::FuncOp>()) {
      if (kernel->hasAttr(kLibraryAttribute))
        continue;
      auto tensors = module.lookupSymbol<func::FuncOp>(kernel.getName());
      if (!tensors || !getLaunch(tensors)) {
        kernel.emitError("expected a kernel on tensors of this name that says its launch (")
            << kGridAttribute << ", " << kBlockAttribute << ", " << kSharedAttribute << ")";
        return signalPassFailure();
      }
      if (failed(printCudaKernel(out, tensors, kernel)))
        return signalPassFailure();
      out << '\n';
    }
    llvm::outs() << text;
  }
};
} // namespace
