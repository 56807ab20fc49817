#include "compiler/Schedule/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

void sinter::buildSchedulePipeline(OpPassManager &manager, bool libraryAttention) {
  manager.addPass(createOrderCommandsPass());
  manager.addPass(createMaterializeCopiesPass());
  manager.addPass(createLowerToPlanPass());
  if (libraryAttention)
    manager.addPass(createOfferLibraryAttentionPass());
  manager.addPass(createVerifySchedulePass());
}
