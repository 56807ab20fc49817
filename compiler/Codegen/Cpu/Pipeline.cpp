#include "compiler/Codegen/Cpu/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void sinter::buildCodegenPipeline(OpPassManager &manager) {
  manager.addPass(createLowerKernelsPass());
  manager.addPass(createCSEPass());
  manager.addPass(createTileTransposesPass());
  manager.addPass(createVectorizeLoopsPass());
  manager.addPass(createUnrollLoopsPass());
  manager.addPass(createExpandMathPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLowerKernelsToLLVMPass());
  manager.addPass(createVerifyCodegenPass());
}
