#include "compiler/Memory/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

void sinter::buildMemoryPipeline(OpPassManager &manager) {
  manager.addPass(createAdvanceCollectivesPass());
  manager.addPass(createReuseInPlacePass());
  manager.addPass(createAssignOffsetsPass());
  manager.addPass(createAssignStreamsPass());
  manager.addPass(createVerifyMemoryPass());
}
