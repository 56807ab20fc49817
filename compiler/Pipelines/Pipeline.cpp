#include "compiler/Pipelines/Pipeline.h"
#include "compiler/Autodiff/Passes.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Cuda/Passes.h"
#include "compiler/Fusion/Passes.h"
#include "compiler/Global/Passes.h"
#include "compiler/Import/Passes.h"
#include "compiler/Layout/Passes.h"
#include "compiler/Memory/Passes.h"
#include "compiler/Precision/Passes.h"
#include "compiler/Schedule/Passes.h"
#include "compiler/Sharding/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sinter;

static constexpr llvm::StringLiteral kPhaseNames[] = {
#define SINTER_PHASE(name) #name,
#include "compiler/Pipelines/Phases.def"
};
static constexpr llvm::StringLiteral kSpeedPasses[] = {
#define SINTER_SPEED_PASS(argument) argument,
#include "compiler/Pipelines/Phases.def"
};

llvm::StringRef sinter::stringifyPhase(Phase phase) {
  return kPhaseNames[static_cast<size_t>(phase)];
}

Expected<Phase> sinter::parsePhase(llvm::StringRef name) {
  for (auto [i, known] : llvm::enumerate(kPhaseNames))
    if (name.equals_insensitive(known))
      return static_cast<Phase>(i);
  return fail(name.str(), "is not a phase of the compiler",
              "phases are " + llvm::join(ArrayRef(kPhaseNames), ", "));
}

bool sinter::isSpeedPass(llvm::StringRef argument) {
  return llvm::is_contained(kSpeedPasses, argument);
}

/// What a training step may take longer for memory that nobody asked to save: less than two runs of
/// it differ by.
static constexpr double kFreeShare = 0.005;

/// Adds the passes of one phase.
static void buildPhase(OpPassManager &manager, Phase phase, const CompileOptions &options,
                       int64_t release) {
  switch (phase) {
  case Phase::Import:
    return buildImportPipeline(manager);
  case Phase::Autodiff:
    return buildAutodiffPipeline(manager, options.training, options.zero,
                                 {release, kFreeShare, options.training.rematerialize});
  case Phase::Precision: {
    const TrainingOptions &training = options.training;
    std::optional<QuantizeProductsPassOptions> products;
    if (training.fp8 != "none")
      products = {training.fp8, training.fp8History, training.fp8Margin};
    return buildPrecisionPipeline(manager, options, products);
  }
  case Phase::Sharding:
    return buildShardingPipeline(
        manager, {options.zero}, {options.reduce == "library", options.forbidGather},
        {options.pipelineSchedule, options.stages, options.training.accumulate});
  case Phase::Global:
    return buildGlobalPipeline(manager);
  case Phase::Layout:
    return buildLayoutPipeline(manager);
  case Phase::Fusion:
    return buildFusionPipeline(manager);
  case Phase::Codegen:
    return options.isGpu() ? buildCudaCodegenPipeline(manager, options.tune)
                           : buildCodegenPipeline(manager);
  case Phase::Schedule:
    return buildSchedulePipeline(manager,
                                 /*libraryAttention=*/options.isGpu() && options.tune);
  case Phase::Memory:
    return buildMemoryPipeline(manager);
  }
}

/// The passes that the user adds after a phase: "after:<Phase>:<pass>".
static Expected<std::vector<PassStep>> parseAddedPass(const std::string &text) {
  auto [where, rest] = StringRef(text).split(':');
  auto [phaseName, pipeline] = rest.split(':');
  if (where != "after" || pipeline.empty())
    return fail("`add_pass` " + text, "is not of the form after:PHASE:PASS",
                "write for example after:Fusion:my-pass");
  SINTER_TRY(Phase phase, parsePhase(phaseName));
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  OpPassManager parsed(ModuleOp::getOperationName());
  if (failed(parsePassPipeline(pipeline, parsed, stream))) {
    // The lines after the first quote the pipeline and point into it.
    StringRef reason = StringRef(errors).trim().split('\n').first;
    size_t begin = reason.find("error: ");
    return fail("`add_pass` " + text,
                reason.drop_front(begin == StringRef::npos ? 0 : begin + 7).str(),
                "load the plugin that has it with `load_pass_plugin`");
  }
  std::vector<PassStep> steps;
  for (Pass &pass : parsed.getPasses()) {
    PassStep &step = steps.emplace_back(PassStep{phase, pass.getArgument().str(), ""});
    llvm::raw_string_ostream os(step.text);
    pass.printAsTextualPipeline(os);
  }
  return steps;
}

Expected<std::vector<PassStep>> sinter::listPasses(const CompileOptions &options, Phase last,
                                                   int64_t release) {
  for (const std::string &disabled : options.disabledPasses)
    if (!isSpeedPass(disabled))
      return fail("`disable_pass` " + disabled, "is not a pass that can be left out",
                  "those are " + llvm::join(ArrayRef(kSpeedPasses), ", "));
  std::vector<PassStep> added;
  for (const std::string &text : options.addedPasses) {
    SINTER_TRY(std::vector<PassStep> steps, parseAddedPass(text));
    llvm::append_range(added, steps);
  }

  std::vector<PassStep> steps;
  for (size_t i = 0; i <= static_cast<size_t>(last); ++i) {
    auto phase = static_cast<Phase>(i);
    OpPassManager manager(ModuleOp::getOperationName());
    buildPhase(manager, phase, options, release);
    for (Pass &pass : manager.getPasses()) {
      if (llvm::is_contained(options.disabledPasses, pass.getArgument()))
        continue;
      PassStep &step = steps.emplace_back(PassStep{phase, pass.getArgument().str(), ""});
      step.verifies = &pass == &*std::prev(manager.end());
      step.optional =
          isSpeedPass(step.argument) || step.argument == "cse" || step.argument == "canonicalize";
      llvm::raw_string_ostream stream(step.text);
      pass.printAsTextualPipeline(stream);
    }
    for (const PassStep &step : added)
      if (step.phase == phase)
        steps.push_back(step);
  }
  return steps;
}

LogicalResult sinter::runPass(ModuleOp module, const PassStep &step) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  if (failed(parsePassPipeline(step.text, manager)))
    return failure();
  // The manager would not look at what a pass leaves that says it changes nothing, as a phase's
  // last.
  manager.enableVerifier(false);
  if (failed(manager.run(module)))
    return failure();
  return success(!step.verifies || succeeded(verify(module)));
}
