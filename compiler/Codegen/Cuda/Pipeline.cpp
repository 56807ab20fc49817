#include "compiler/Codegen/Cuda/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void sinter::buildCudaCodegenPipeline(OpPassManager &manager, bool tune) {
  manager.addPass(createSelectWarpgroupsPass());
  manager.addPass(createLowerCudaKernelsPass({tune}));
  manager.addPass(createCSEPass());
  manager.addPass(createSplitItemsPass());
  manager.addPass(createSplitColumnsPass());
  manager.addPass(createPlanThreadsPass());
  manager.addPass(createInsertBarriersPass());
  manager.addPass(createMapLoopsToThreadsPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLoadRowsAheadPass());
  manager.addPass(createVerifyCudaCodegenPass());
}
