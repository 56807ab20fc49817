#include "tools/sinter/TrainMode.h"
#include "tools/sinter/FitMemory.h"
#include <random>

using namespace sinter;
using namespace sinter::cli;

/// Rows of a microbatch where --batch does not say; `sinter train` has the same.
static constexpr int64_t kTrainBatch = 8;

void sinter::cli::addStepModeOptions(CLI::App &command, StepModeOptions &options) {
  options.command = &command;
  addModelOptions(command, options);
  addModeOptions(command, options.mode);
  addStepOptions(command, options.step);
}

Expected<void> sinter::cli::completeOptions(const Model &model, StepModeOptions &options) {
  ModeOptions &mode = options.mode;
  if (!options.isTraining()) {
    for (const CLI::Option *option : options.command->get_options())
      for (const char *group : {"Optimizer", "Regularization", "Memory"})
        if (option->get_group() == group && option->count() != 0)
          return fail(option->get_name(), "is of a training step, not of " + mode.mode,
                      "add --mode train, or leave it out");
    if (model.isExecutable) {
      SINTER_TRY(auto executable, runtime::Executable::open(options.model));
      SINTER_TRY(int64_t capacity, executable->metadataNumber("max_seq"));
      mode.limitDefaults(capacity);
    } else if (model.spec.positions == PositionKind::Learned) {
      mode.limitDefaults(model.spec.maxPositions);
    }
    return {};
  }
  if (model.isExecutable)
    return fail(options.model, "is compiled already, and a training step is looked at from a model",
                "give the model itself");
  if (options.command->get_option("--batch")->count() == 0)
    options.batch = kTrainBatch;
  if (!*mode.sequenceOption)
    mode.sequence = getDefaultSequence(model.spec);
  return checkStepOptions(options.step);
}

Expected<CompileRequest>
sinter::cli::makeModeRequest(const Model &model, const StepModeOptions &options, bool evaluate) {
  const ModeOptions &mode = options.mode;
  if (options.isTraining())
    return makeTrainRequest(model, options, options.step, mode.sequence, evaluate);
  return makeRequest(model, options, {mode.mode}, mode.getChunk(),
                     mode.getCapacity(options.capacity));
}

runtime::TrainOptions sinter::cli::makeTrainOptions(const StepModeOptions &options,
                                                    int64_t saveEvery) {
  const TrainingOptions &step = options.step.training;
  runtime::TrainOptions train;
  train.accumulate = static_cast<uint64_t>(step.accumulate);
  train.beta1 = step.beta1;
  train.beta2 = step.beta2;
  train.order = runtime::DataOrder::Sequential;
  train.seed = options.seed;
  if (step.documentMask)
    train.endOfText = 0;
  train.session.threads = static_cast<unsigned>(getThreads(options));
  if (saveEvery != 0) {
    train.directory = ".";
    train.saveEvery = static_cast<uint64_t>(saveEvery);
  }
  return train;
}

/// Enough tokens for two steps; then they come again.
static Expected<runtime::TokenStream> makeRandomTokens(const Model &model,
                                                       const StepModeOptions &options) {
  int64_t count = 2 * options.step.training.accumulate * options.batch * options.mode.sequence + 1;
  std::mt19937_64 random(options.seed);
  std::uniform_int_distribution<int32_t> anyToken(0,
                                                  static_cast<int32_t>(model.spec.vocabSize) - 1);
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t &token : tokens)
    token = anyToken(random);
  runtime::TokenWidth width = runtime::tokenWidthFor(model.spec.vocabSize);
  SINTER_TRY(runtime::TokenFile file,
             runtime::TokenFile::fromMemory("random tokens", packTokens(tokens, width), width,
                                            model.spec.vocabSize));
  std::vector<runtime::TokenFile> files;
  files.push_back(std::move(file));
  return runtime::TokenStream(std::move(files));
}

Expected<std::unique_ptr<RandomRun>>
sinter::cli::openRandomRun(const Model &model, const StepModeOptions &options, int64_t steps) {
  SINTER_TRY(CompileRequest request, makeModeRequest(model, options));
  runtime::TrainOptions train = makeTrainOptions(options);
  SINTER_CHECK(checkBudget(MemoryPlanner(
      model, {options, options.step, options.mode.sequence, train, /*validates=*/false})));
  SINTER_TRY(Compiled compiled, compileCached(request, options));
  auto run = std::make_unique<RandomRun>();
  train.schedule.steps = static_cast<uint64_t>(steps);
  uint64_t budget = options.step.budgetBytes;
  SINTER_TRY(runtime::TrainMemory memory,
             fitBudget(request, options, budget, train, /*validates=*/false, compiled));
  if (budget != 0 && memory.peak() > budget)
    return refuseBudget(options.step, memory);
  run->compileMs = compiled.compileMs;
  if (model.weights)
    train.weights = &run->source.emplace(*model.weights);
  SINTER_TRY(runtime::TokenStream tokens, makeRandomTokens(model, options));
  SINTER_TRY(run->trainer, runtime::Trainer::create(compiled.executable,
                                                    {std::move(tokens), std::nullopt}, train));
  return run;
}

std::vector<std::pair<const fb::Program *, int64_t>>
sinter::cli::getStepPrograms(const runtime::Executable &executable, int64_t accumulate) {
  if (accumulate == 1)
    return {{executable.program("train_step"), 1}};
  return {{executable.program("accumulate"), accumulate}, {executable.program("update"), 1}};
}
