#include "compiler/Global/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void sinter::buildGlobalPipeline(OpPassManager &manager) {
  manager.addPass(createMergeMatmulsPass());
  manager.addPass(createCSEPass());
  manager.addPass(createVerifyGlobalPass());
}

void sinter::registerGlobalPipeline() {
  PassPipelineRegistration<>("sinter-global-pipeline",
                             "The Global phase: what restructures the whole graph",
                             buildGlobalPipeline);
}
