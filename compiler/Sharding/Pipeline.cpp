#include "compiler/Sharding/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void sinter::buildShardingPipeline(OpPassManager &manager, const SeedShardingsPassOptions &seeds,
                                   const PartitionPassOptions &partition,
                                   const SplitStagesPassOptions &stages) {
  manager.addPass(createSinkRowSelectionPass());
  manager.addPass(createSplitExpertsPass());
  manager.addPass(createSplitFusedPass());
  manager.addPass(createSeedShardingsPass(seeds));
  manager.addPass(createPartitionPass(partition));
  manager.addPass(createSplitStagesPass(stages));
  manager.addPass(createCoalesceCollectivesPass());
  manager.addPass(createVerifyShardingPass());
}

void sinter::registerShardingPipeline() {
  PassPipelineRegistration<>(
      "sinter-sharding-pipeline", "The Sharding phase: the program of one rank",
      [](OpPassManager &manager) { buildShardingPipeline(manager, {}, {}, {}); });
}
