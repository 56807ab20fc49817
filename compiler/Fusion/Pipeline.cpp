#include "compiler/Fusion/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void sinter::buildFusionPipeline(OpPassManager &manager) {
  manager.addPass(createFormFusionsPass());
  manager.addPass(createIsolateOpsPass());
  manager.addPass(createSplitAttentionGradPass());
  manager.addPass(createAbsorbNormsPass());
  manager.addPass(createAbsorbHeadsPass());
  manager.addPass(createSelectLibraryGemmPass());
  manager.addPass(createOutlineKernelsPass());
  manager.addPass(createVerifyFusionPass());
}

void sinter::registerFusionPipeline() {
  PassPipelineRegistration<>("sinter-fusion-pipeline", "The Fusion phase: from ops to kernels",
                             buildFusionPipeline);
}
