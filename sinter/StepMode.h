//===- StepMode.h - A step of a model, of any mode --------------*- C++ -*-===//
//
// What measuring, planning, profiling and explaining share. Of training they compile the programs
// that a training run with the same options compiles, and drive them with the same trainer over
// random tokens, so what they predict and measure is what a run will hold and take.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "sinter/TrainStep.h"
#include <set>

namespace sinter {

/// The mode and the sizes that go with it.
struct ModeOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "sinter/ModeOptions.def"

  template <typename Self, typename Visitor>
  static void visit(Self &self, Visitor &&visitor){
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "sinter/ModeOptions.def"
  }

  /// Tokens of a slot that one step takes.
  int64_t getChunk() const {
    return mode == "decode" ? 1 : sequence;
  }
  /// Positions of the KV cache: `asked`, or as many as the mode needs.
  int64_t getMaxSequence(int64_t asked) const {
    return asked ? asked : mode == "decode" ? context + 1 : sequence;
  }
};

/// A step of a model and how it is run.
struct StepModeOptions : RunOptions {
  ModeOptions mode;
  /// Ids of the options that were given: sizes that were not become those of model and mode.
  std::set<std::string, std::less<>> given;

  bool isTraining() const { return mode.mode == "train"; }
};

/// A step of which memory and time are planned.
struct PlannedStep : StepModeOptions {
  int64_t saveEvery = 0;  ///< of a training run: steps between checkpoints
  bool validates = false; ///< a training run has validation data
};

/// Gives sizes that were not asked for those of the model and the mode. Fails where a training
/// option is given for another mode, is wrong, or the model is an executable and the mode is train.
Expected<void> completeOptions(const Model &model, StepModeOptions &options);

/// What the compiler needs to know for the mode. @pre the options are complete
Expected<CompileRequest> makeModeRequest(const Model &model, const StepModeOptions &options,
                                         bool evaluate = false);

/// What a training run tells a trainer, as far as it bears on a step. With `saveEvery`, checkpoints
/// are written beside the run.
runtime::TrainOptions makeTrainOptions(const StepModeOptions &options, int64_t saveEvery = 0);

/// A trainer over random tokens.
struct RandomRun {
  std::optional<WeightFilesSource> source; ///< of the model's weights, which outlive this
  double compileMs = 0;
  std::unique_ptr<runtime::Trainer> trainer;

  const runtime::Executable &getExecutable() const { return trainer->getSession().getExecutable(); }
};

/// Compiles a training step and binds it to memory; tokens, and weights where the model has none,
/// are made from the seed. `steps` of it will be run.
Expected<std::unique_ptr<RandomRun>> openRandomRun(const Model &model,
                                                   const StepModeOptions &options, int64_t steps);

/// Programs that run one after the other.
using ProgramRuns = std::vector<const fb::Program *>;

/// What a rank runs in a training step of so many microbatches (runtime/Train/StepPlan.h). Fails
/// where the executable was not compiled for it.
Expected<ProgramRuns> getStepRuns(const runtime::Executable &executable, int64_t accumulate,
                                  size_t rank);

/// The same of the rank that the options' communicator is, or of the only one.
Expected<ProgramRuns> getOwnStepRuns(const runtime::Executable &executable,
                                     const RunOptions &options);

/// What a rank runs an entry by.
ProgramRuns getEntryRuns(const runtime::Executable &executable, const std::string &entry,
                         size_t rank);

/// What each rank runs in a step of the mode, by rank: in training getStepRuns(), else the mode's
/// program.
Expected<std::vector<ProgramRuns>> getModeRuns(const runtime::Executable &executable,
                                               const StepModeOptions &options);

/// What a rank that runs the step would hold, with all of its process; nothing is allocated or
/// read.
Expected<runtime::TrainMemory>
predictStepMemory(const Model &model, const std::shared_ptr<const runtime::Executable> &executable,
                  const PlannedStep &step);

} // namespace sinter
