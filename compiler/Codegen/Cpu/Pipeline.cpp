#include "compiler/Codegen/Cpu/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

void sinter::buildCodegenPipeline(OpPassManager &manager, const CodegenOptions &options) {
  manager.addPass(createLowerKernelsPass());
}
