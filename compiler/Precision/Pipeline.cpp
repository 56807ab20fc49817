#include "compiler/Precision/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void sinter::buildPrecisionPipeline(OpPassManager &manager, const PrecisionOptions &options) {
  AssignComputeTypePassOptions types;
  types.computeType = options.computeType;
  types.cacheType = options.cacheType;
  types.tf32 = options.tf32;
  manager.addPass(createAssignComputeTypePass(types));
  manager.addPass(createTransposeWeightsPass());
  manager.addPass(createAlignProductsPass());
  manager.addPass(createPackWeightsPass());
  manager.addPass(createPackCachesPass());
  manager.addPass(createCSEPass());
  manager.addPass(createShareTablesPass());
  manager.addPass(createVerifyPrecisionPass());
}

void sinter::registerPrecisionPipeline() {
  PassPipelineRegistration<PrecisionOptions>("sinter-precision-pipeline",
                                             "The Precision phase: element types and layouts",
                                             buildPrecisionPipeline);
}
