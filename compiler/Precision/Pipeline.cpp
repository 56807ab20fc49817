#include "compiler/Precision/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void sinter::buildPrecisionPipeline(OpPassManager &manager, const PrecisionOptions &options) {
  if (options.weights == "int8" || options.weights == "int4") {
    QuantizeWeightsPassOptions weights;
    weights.weights = options.weights;
    weights.group = options.activations == "int8" ? 0 : options.group.getValue();
    weights.head = options.head;
    manager.addPass(createQuantizeWeightsPass(weights));
  }
  if (options.activations == "int8")
    manager.addPass(createQuantizeActivationsPass());
  AssignComputeTypePassOptions types;
  types.computeType = options.computeType;
  bool ofBytes = options.cacheType == "int8" || options.cacheType == "fp8";
  types.cacheType = ofBytes ? "f32" : options.cacheType.getValue();
  types.tf32 = options.tf32;
  manager.addPass(createAssignComputeTypePass(types));
  if (ofBytes)
    manager.addPass(createQuantizeCachesPass({options.cacheType.getValue()}));
  manager.addPass(createVerifyPrecisionPass());
}

void sinter::registerPrecisionPipeline() {
  PassPipelineRegistration<PrecisionOptions>(
      "sinter-precision-pipeline", "The Precision phase: element types", buildPrecisionPipeline);
}
