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
  auto addSpeedPass = [&](std::unique_ptr<Pass> pass) {
    if (!llvm::is_contained(options.disabledPasses, pass->getArgument()))
      manager.addPass(std::move(pass));
  };
  addSpeedPass(createAlignProductsPass());
  manager.addPass(createPackWeightsPass());
  addSpeedPass(createPackCachesPass());
  manager.addPass(createCSEPass());
  manager.addPass(createVerifyPrecisionPass());
}

void sinter::registerPrecisionPipeline() {
  PassPipelineRegistration<PrecisionOptions>("sinter-precision-pipeline",
                                             "The Precision phase: element types and layouts",
                                             buildPrecisionPipeline);
}
