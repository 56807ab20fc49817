#include "compiler/Schedule/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

void sinter::buildSchedulePipeline(OpPassManager &manager, const ScheduleOptions &options) {
  if (options.orderCommands)
    manager.addPass(createOrderCommandsPass());
  manager.addPass(createMaterializeCopiesPass());
  manager.addPass(createLowerToPlanPass());
  if (options.libraryAttention)
    manager.addPass(createOfferLibraryAttentionPass());
  manager.addPass(createVerifySchedulePass());
}
