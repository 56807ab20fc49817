#include "compiler/Fusion/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void sinter::buildFusionPipeline(OpPassManager &manager, const FusionOptions &options) {
  auto addSpeedPass = [&](std::unique_ptr<Pass> pass) {
    if (!llvm::is_contained(options.disabledPasses, pass->getArgument()))
      manager.addPass(std::move(pass));
  };
  addSpeedPass(createMergeMatmulsPass());
  addSpeedPass(createSinkRowSelectionPass());
  manager.addPass(createCSEPass());
  addSpeedPass(createNarrowResultsPass());
  addSpeedPass(createHoistParametersPass());
  addSpeedPass(createFormFusionsPass());
  manager.addPass(createIsolateOpsPass());
  manager.addPass(createSplitAttentionGradPass());
  addSpeedPass(createAbsorbNormsPass());
  addSpeedPass(createSelectLibraryGemmPass());
  manager.addPass(createOutlineKernelsPass());
  manager.addPass(createVerifyFusionPass());
}

void sinter::registerFusionPipeline() {
  PassPipelineRegistration<FusionOptions>(
      "sinter-fusion-pipeline", "The Fusion phase: from ops to kernels", buildFusionPipeline);
}
