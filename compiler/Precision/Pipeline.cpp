#include "compiler/Precision/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace sinter;

namespace {

/// The options as text, as the pass sinter-apply-optimizer has its own.
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
#define SINTER_OPTION(name, type, member, initial, ...)                                            \
  static constexpr FlagName member##Flag{name};                                                    \
  Option<std::string> member##Text{*this, member##Flag.text,                                       \
                                   llvm::cl::desc(OptionInfo{.id = name, __VA_ARGS__}.help),       \
                                   llvm::cl::init(writeOption(PrecisionOptions().member))};
#include "compiler/Precision/PrecisionOptions.def"
};

} // namespace

void sinter::buildPrecisionPipeline(OpPassManager &manager, const PrecisionOptions &options,
                                    const std::optional<QuantizeProductsPassOptions> &products) {
  // Rows of 8 bits meet weights of 8 bits with a scale a channel, and weights of fp8 nothing but
  // such rows.
  std::string activations = options.weights == "fp8" ? options.weights : options.activations;
  bool roundsRows = activations == "int8" || activations == "fp8";
  if (options.weights == "int8" || options.weights == "int4" || options.weights == "fp8")
    manager.addPass(createQuantizeWeightsPass(
        {.weights = options.weights,
         .group = roundsRows && options.weights != "int4" ? 0 : options.weightsGroup,
         .head = options.quantizesHead}));
  if (roundsRows)
    manager.addPass(createQuantizeActivationsPass({activations}));
  if (products)
    manager.addPass(createQuantizeProductsPass(*products));
  std::string cacheType = writeOption(options.getCacheType());
  bool ofBytes = cacheType == "int8" || cacheType == "fp8";
  manager.addPass(createAssignComputeTypePass({.computeType = writeOption(options.getComputeType()),
                                               .cacheType = ofBytes ? "f32" : cacheType,
                                               .tf32 = options.tf32}));
  if (ofBytes)
    manager.addPass(createQuantizeCachesPass({cacheType}));
  manager.addPass(createVerifyPrecisionPass());
}

/// The same of options as text.
static LogicalResult parsePrecisionPipeline(OpPassManager &manager, StringRef text,
                                            function_ref<LogicalResult(const Twine &)> fail) {
  PipelineOptions texts;
  if (failed(texts.parseFromString(text)))
    return failure();
  PrecisionOptions options;
#define SINTER_OPTION(name, type, member, initial, ...)                                            \
  if (!readOption(texts.member##Text.getValue(), options.member))                                  \
    return fail("expected another value of " name ", got '" + texts.member##Text.getValue() + "'");
#include "compiler/Precision/PrecisionOptions.def"
  buildPrecisionPipeline(manager, options);
  return success();
}

void sinter::registerPrecisionPipeline() {
  registerPassPipeline("sinter-precision-pipeline", "The Precision phase: element types",
                       parsePrecisionPipeline,
                       [](function_ref<void(const mlir::detail::PassOptions &)> visit) {
                         visit(PipelineOptions());
                       });
}
