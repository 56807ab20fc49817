//===- TrainRun.h - A training run, opened and checked ----------*- C++ -*-===//
//
// What `train` and `compare` share. A run is prepared in the order of what things cost, so that
// a mistake is found before a long wait: options, data, compilation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/sinter/TrainData.h"
#include "tools/sinter/Training.h"
#include "tools/sinter/Weights.h"

namespace sinter::cli {

struct TrainRunOptions : ModelOptions {
  TrainRunOptions() { batch = 8; }

  StepOptions step;
  DataOptions data;
  int64_t sequence = 0; ///< --seq; 0: 256, or all that the model has
  int64_t steps = 1000;
  std::string schedule = "constant";
  std::optional<double> learningRate; ///< none: 3e-4, or what adafactor makes of relative steps
  std::optional<double> adamwRate;    ///< of what AdamW updates beside muon; none: the same
  double minimum = 0, decayFraction = 0.2;
  int64_t warmup = 0;
  std::string scaleFromBatch; ///< --scale-lr-from-batch: "sqrt:32"
  int64_t evaluateEvery = 0;
  std::string out; ///< where checkpoints go; empty: nowhere
  int64_t saveEvery = 0;
};

/// Adds all of them but MODEL, in groups.
void addTrainRunOptions(CLI::App &command, TrainRunOptions &options);

/// A model that can be trained. It stays where it is: its options refer to its weights.
struct PreparedRun {
  explicit PreparedRun(OpenData data) : data(std::move(data)) {}

  Compiled compiled;
  std::optional<WeightFiles> weights; ///< none: random ones
  std::optional<WeightFilesSource> source;
  OpenData data;
  runtime::TrainOptions options; ///< without callbacks
  /// Files that belong to the model, by name: config.json, the tokenizer's.
  std::map<std::string, std::string> files;
  std::string dtype;              ///< the compute type: f32, bf16 or f16
  DType productType = DType::F32; ///< what is multiplied: f16 is rounded to, then widened
  int64_t parameters = 0;
  double flops = 0; ///< of a step, by getUsefulFlops
};

/// Opens an executable that was compiled for training, and takes what it was compiled for as the
/// value of every option of `command` that was not given. Fails where one was given and is another.
/// Null for any other model.
Expected<std::shared_ptr<const runtime::Executable>>
adoptExecutable(const CLI::App &command, TrainRunOptions &options, Model &model);

/// Checks the options, opens the data and, unless there is an `executable`, compiles. Fails where
/// the run would hold more than --memory-budget.
Expected<std::unique_ptr<PreparedRun>>
prepareRun(Model model, TrainRunOptions &options,
           std::shared_ptr<const runtime::Executable> executable = nullptr);

/// "950", "1.2 M", "124.4 M".
std::string formatCount(double count);

} // namespace sinter::cli
