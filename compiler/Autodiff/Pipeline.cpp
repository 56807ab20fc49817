#include "compiler/Autodiff/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void sinter::buildAutodiffPipeline(OpPassManager &manager, const OptimizerOptions &optimizer,
                                   int64_t zero, const RematerializePassOptions &rematerialize) {
  manager.addPass(createDifferentiatePass());
  manager.addPass(createApplyOptimizerPass(optimizer, zero));
  manager.addPass(createExpandLossesPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createRematerializePass(rematerialize));
  manager.addPass(createVerifyAutodiffPass());
}
