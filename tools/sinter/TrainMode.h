//===- TrainMode.h - `--mode train`: a training step without data -*- C++ -*-===//
//
// What bench, plan, profile and explain share where they look at a training step. They compile the
// programs that `sinter train` with the same options compiles, and drive them with the same
// trainer, so what they predict and measure is what a run will hold and take.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Train/Trainer.h"
#include "tools/sinter/Mode.h"
#include "tools/sinter/Training.h"
#include "tools/sinter/Weights.h"

namespace sinter::cli {

/// Options of a command that looks at a step of a model, of any mode.
struct StepModeOptions : ModelOptions {
  const CLI::App *command = nullptr;
  ModeOptions mode;
  StepOptions step; ///< of a training step

  bool isTraining() const { return mode.mode == "train"; }
};

/// Adds MODEL, its options, --mode and those of a training step.
void addStepModeOptions(CLI::App &command, StepModeOptions &options);

/// Sizes that were not asked for become those of the model and the mode. Fails where a training
/// option is given for another mode, is wrong, or MODEL is an executable and the mode is train.
Expected<void> completeOptions(const Model &model, StepModeOptions &options);

/// What compile() needs to know for the mode. @pre the options are complete
Expected<CompileRequest> makeModeRequest(const Model &model, const StepModeOptions &options,
                                         bool evaluate = false);

/// What `sinter train` tells a trainer, as far as it bears on a step. With `saveEvery`, checkpoints
/// are written beside the run.
runtime::TrainOptions makeTrainOptions(const StepModeOptions &options, int64_t saveEvery = 0);

/// A trainer over random tokens.
struct RandomRun {
  std::optional<WeightFilesSource> source; ///< of the model's weights, which outlive this
  double compileMs = 0;
  std::unique_ptr<runtime::Trainer> trainer;

  const runtime::Executable &executable() const { return trainer->session().executable(); }
};

/// Compiles a training step and binds it to memory; tokens, and weights where the model has none,
/// are made from the seed. `steps` of it will be run.
Expected<std::unique_ptr<RandomRun>> openRandomRun(const Model &model,
                                                   const StepModeOptions &options, int64_t steps);

/// The programs of a step and how often it runs each: train_step, or accumulate and update.
std::vector<std::pair<const fb::Program *, int64_t>>
getStepPrograms(const runtime::Executable &executable, int64_t accumulate);

} // namespace sinter::cli
