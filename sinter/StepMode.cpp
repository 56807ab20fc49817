#include "sinter/StepMode.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Train/StepPlan.h"
#include "runtime/Train/TrainPrograms.h"
#include "sinter/FitMemory.h"
#include "sinter/TextModel.h"
#include <algorithm>
#include <random>

using namespace sinter;

/// Rows of a microbatch where nothing says how many; a training run has the same.
static constexpr int64_t kTrainBatch = 8;

/// Shortens lengths that were not asked for to what there is.
static void limitDefaults(StepModeOptions &options, int64_t positions) {
  ModeOptions &mode = options.mode;
  if (!options.given.contains("seq"))
    mode.sequence = std::min(mode.sequence, positions);
  if (!options.given.contains("context"))
    mode.context = std::min(mode.context, positions - 1);
}

/// Says which size is not looked at, as the mode has none of it.
static void noteUnused(const StepModeOptions &options) {
  bool decodes = options.mode.mode == "decode";
  if (decodes && options.given.contains("seq"))
    options.observer.note("a decode step takes one token behind `context`; `seq` is not looked at");
  if (!decodes && options.given.contains("context"))
    options.observer.note("`context` is of `mode` decode, and is not looked at");
}

Expected<void> sinter::completeOptions(const Model &model, StepModeOptions &options) {
  noteUnused(options);
  if (!options.isTraining()) {
    SINTER_CHECK(checkNoTraining(options, options.given, options.mode.mode, "`mode` train"));
    if (model.isExecutable()) {
      SINTER_TRY(int64_t maxSequence, model.executable->metadataNumber("max_seq"));
      limitDefaults(options, maxSequence);
    } else if (model.text) {
      if (!options.given.contains("batch"))
        options.batch = std::max<int64_t>(model.text->getNumber("batch"), 1);
      if (!options.given.contains("seq") && options.mode.mode != "decode")
        options.mode.sequence = model.text->getNumber("seq");
      limitDefaults(options, model.text->getNumber("max_seq"));
    } else if (model.spec.positions == PositionKind::Learned) {
      limitDefaults(options, model.spec.maxPositions);
    }
    return {};
  }
  if (model.isExecutable())
    return fail(model.path.string(),
                "is compiled already, and a training step is looked at from a model",
                "give the model itself");
  if (!options.given.contains("batch"))
    options.batch = kTrainBatch;
  if (!options.given.contains("seq"))
    options.mode.sequence = getDefaultSequence(model);
  if (model.text)
    SINTER_CHECK(adoptStep(model, options.given, options, options.mode.sequence));
  SINTER_CHECK(resolveMicrobatches(options));
  SINTER_CHECK(options.getBudget());
  return options.training.check();
}

Expected<CompileRequest> sinter::makeModeRequest(const Model &model, const StepModeOptions &options,
                                                 bool evaluate) {
  const ModeOptions &mode = options.mode;
  if (options.isTraining())
    return makeTrainRequest(model, options, mode.sequence, evaluate);
  return makeRequest(model, options, {mode.mode}, mode.getChunk(),
                     mode.getMaxSequence(options.maxSequence));
}

runtime::TrainOptions sinter::makeTrainOptions(const StepModeOptions &options, int64_t saveEvery) {
  const TrainingOptions &step = options.training;
  runtime::TrainOptions train;
  train.accumulate = static_cast<uint64_t>(step.accumulate);
  train.order = runtime::DataOrder::Sequential;
  train.seed = options.seed;
  if (step.documentMask)
    train.endOfText = 0;
  train.session.threads = static_cast<unsigned>(getThreads(options));
  train.session.communicator = options.communicator;
  if (saveEvery != 0) {
    train.directory = ".";
    train.saveEvery = static_cast<uint64_t>(saveEvery);
  }
  return train;
}

/// Enough tokens for two steps; then they come again.
static Expected<runtime::TokenStream> makeRandomTokens(const Model &model,
                                                       const StepModeOptions &options) {
  int64_t count = 2 * options.training.accumulate * options.batch * options.mode.sequence + 1;
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
sinter::openRandomRun(const Model &model, const StepModeOptions &options, int64_t steps) {
  SINTER_TRY(CompileRequest request, makeModeRequest(model, options));
  runtime::TrainOptions train = makeTrainOptions(options);
  SINTER_CHECK(checkBudget(
      MemoryPlanner(model, {options, options.mode.sequence, train, /*validates=*/false})));
  SINTER_TRY(Compiled compiled, compileCached(request, options, model.path.string()));
  auto run = std::make_unique<RandomRun>();
  train.schedule.steps = static_cast<uint64_t>(steps);
  SINTER_TRY(uint64_t budget, options.getBudget());
  SINTER_TRY(runtime::TrainMemory memory,
             fitBudget(request, options, budget, train, /*validates=*/false, compiled));
  if (budget != 0 && memory.getPeak() > budget)
    return refuseBudget(options, memory);
  run->compileMs = compiled.compileMs;
  if (model.weights)
    train.weights = &run->source.emplace(*model.weights);
  SINTER_TRY(runtime::TokenStream tokens, makeRandomTokens(model, options));
  SINTER_TRY(run->trainer, runtime::Trainer::create(compiled.executable,
                                                    {std::move(tokens), std::nullopt}, train));
  return run;
}

Expected<ProgramRuns> sinter::getStepRuns(const runtime::Executable &executable, int64_t accumulate,
                                          size_t rank) {
  SINTER_TRY(runtime::StepPlan plan,
             runtime::StepPlan::make(executable, rank, static_cast<uint64_t>(accumulate),
                                     /*validation=*/false));
  ProgramRuns runs;
  auto add = [&](const std::string &name) { runs.push_back(executable.program(name)); };
  for (const runtime::PlannedTask &task : plan.tasks) {
    add(task.run.program);
    std::ranges::for_each(task.carries, add);
  }
  std::ranges::for_each(plan.update, add);
  std::ranges::for_each(plan.share, add);
  return runs;
}

/// The names of the programs that a rank runs an entry by.
static std::vector<std::string> listNames(const runtime::Executable &executable,
                                          const std::string &entry, size_t rank) {
  std::vector<std::string> names;
  for (const runtime::EntryPass &pass : runtime::listPasses(
           executable, runtime::findPlace(executable.getRoot(), runtime::kPipelineAxis, rank),
           entry))
    names.push_back(pass.name);
  return names;
}

ProgramRuns sinter::getEntryRuns(const runtime::Executable &executable, const std::string &entry,
                                 size_t rank) {
  ProgramRuns runs;
  for (const std::string &name : listNames(executable, entry, rank))
    runs.push_back(executable.program(name));
  return runs;
}

Expected<ProgramRuns> sinter::getOwnStepRuns(const runtime::Executable &executable,
                                             const RunOptions &options) {
  return getStepRuns(executable, options.training.accumulate,
                     options.communicator ? options.communicator->getRank() : 0);
}

Expected<std::vector<ProgramRuns>> sinter::getModeRuns(const runtime::Executable &executable,
                                                       const StepModeOptions &options) {
  size_t ranks = runtime::countRanks(executable.getRoot());
  std::vector<ProgramRuns> runs;
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (!options.isTraining()) {
      runs.push_back(getEntryRuns(executable, options.mode.mode, rank));
      continue;
    }
    SINTER_TRY(ProgramRuns own, getStepRuns(executable, options.training.accumulate, rank));
    runs.push_back(std::move(own));
  }
  return runs;
}

Expected<runtime::TrainMemory>
sinter::predictStepMemory(const Model &model,
                          const std::shared_ptr<const runtime::Executable> &executable,
                          const PlannedStep &step) {
  if (step.isTraining())
    return runtime::predictTrainMemory(executable, makeTrainOptions(step, step.saveEvery),
                                       step.validates);
  runtime::TrainMemory use;
  runtime::BindOptions session;
  session.threads = static_cast<unsigned>(getThreads(step));
  session.programs = listNames(*executable, step.mode.mode, runtime::findLargestRank(*executable));
  std::optional<WeightFilesSource> source;
  if (model.weights)
    session.weights = &source.emplace(*model.weights);
  SINTER_TRY(use.session, runtime::predictMemory(executable, session));
  use.apart = !executable->isForCpu();
  use.process = runtime::predictProcessMemory(*executable, use.session);
  return use;
}
