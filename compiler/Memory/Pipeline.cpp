#include "compiler/Memory/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

void sinter::buildMemoryPipeline(OpPassManager &manager, const MemoryOptions &options) {
  if (options.reuseInPlace)
    manager.addPass(createReuseInPlacePass());
  manager.addPass(createAssignOffsetsPass());
  if (options.assignStreams)
    manager.addPass(createAssignStreamsPass());
  manager.addPass(createVerifyMemoryPass());
}
