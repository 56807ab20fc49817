#include "compiler/Layout/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void sinter::buildLayoutPipeline(OpPassManager &manager) {
  manager.addPass(createTransposeWeightsPass());
  manager.addPass(createAlignProductsPass());
  manager.addPass(createPackWeightsPass());
  manager.addPass(createPackCachesPass());
  manager.addPass(createCSEPass());
  manager.addPass(createShareTablesPass());
  manager.addPass(createNarrowResultsPass());
  // Packing is work on weights, and most of it: only behind it is all of that work known.
  manager.addPass(createHoistParametersPass());
  manager.addPass(createVerifyLayoutPass());
}

void sinter::registerLayoutPipeline() {
  PassPipelineRegistration<>("sinter-layout-pipeline", "The Layout phase: how values lie in memory",
                             buildLayoutPipeline);
}
