//===- Train.h - Training a model -------------------------------*- C++ -*-===//
//
//   sinter::TrainOptions options;
//   options.data.files = {"book.txt"};
//   options.out = "run";
//   auto result = sinter::train(*sinter::Model::open("config.json"), options);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Cluster/RankReport.h"
#include "sinter/Layout.h"
#include "sinter/TrainData.h"
#include "sinter/TrainLog.h"
#include "sinter/TrainStep.h"
#include <set>

namespace sinter {

struct TrainOptions : RunOptions {
  TrainOptions() {
    batch = 8;
    chunk = 0;
  }

#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "sinter/TrainOptions.def"

  // `chunk` are the tokens of a row; 0: 256, or as many as the model has positions.

  LayoutOptions where;
  DataOptions data;
  /// Ids of the options that were given, of which an executable must have been compiled with the
  /// same; empty: those that are other than their defaults.
  std::set<std::string, std::less<>> given;
  /// Called after each step.
  std::function<void(const runtime::StepRecord &)> onStep;

  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
    RunOptions::visit(self, visitor);
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "sinter/TrainOptions.def"
  }

  /// Where the log goes; empty where neither it nor `out` is given.
  std::string getLog() const;
};

struct TrainResult {
  uint64_t steps = 0;     ///< done since the run began, by this process and those before
  bool stopped = false;   ///< by Observer::stop, before the last step
  double seconds = 0;     ///< in this process
  uint64_t peakBytes = 0; ///< measured, see runtime::Trainer::peakBytes()
  /// What each rank was at in the last steps, and in how many; where there are several ranks.
  std::optional<runtime::RankReport> ranks;
  int64_t tracedSteps = 0;
};

/// A training run, opened and checked. It is prepared in the order of what things cost, so that a
/// mistake is found before a long wait: options, data, compilation.
class TrainRun {
public:
  /// Of a model the step is compiled; an executable's is taken, with its options. Fails where an
  /// option is wrong, `out` holds another model, the data cannot be read or are too short, or the
  /// run would hold more than the memory budget.
  static Expected<std::unique_ptr<TrainRun>> prepare(Model model, TrainOptions options);

  /// Fills the parameters, or goes on from a checkpoint, writes config.json and the tokenizer's
  /// files into `out`, and opens the log.
  Expected<void> begin();

  /// Does the steps that are left, as runtime::Trainer::run(). @pre begin() has succeeded
  Expected<TrainResult> run();

  const TrainOptions &getOptions() const { return options; }
  const runtime::Executable &getExecutable() const { return *compiled.executable; }
  /// @pre begin() has succeeded
  runtime::Trainer &getTrainer() { return *trainer; }
  double getCompileMs() const { return compiled.compileMs; }
  int64_t getParameters() const { return parameters; }
  /// Useful operations of a step (getUsefulFlops).
  double getFlops() const { return flops; }
  /// The type that is multiplied: f16 is rounded to, then widened on a processor.
  DType getProductType() const { return productType; }
  /// What tells the training data from others: "40000 tokens 0123456789abcdef".
  const std::string &getFingerprint() const { return data->fingerprint; }

private:
  TrainRun(Model model, TrainOptions options)
      : model(std::move(model)), options(std::move(options)) {}
  Expected<void> adoptExecutable();
  Expected<void> prepare();
  Expected<void> getExecutable(CompileRequest request);
  std::map<std::string, std::string> identify() const;
  Expected<void> beginTrace();
  void endTracedStep(const runtime::StepRecord &record);
  Expected<void> reportRanks(TrainResult &result) const;

  Model model;
  TrainOptions options;
  Compiled compiled;
  std::optional<WeightFilesSource> source;
  std::optional<OpenData> data;
  runtime::TrainOptions trainerOptions;
  std::map<std::string, std::string> files; ///< of the model, by name: config.json, the tokenizer's
  DType productType = DType::F32;
  int64_t parameters = 0;
  double flops = 0;
  std::optional<runtime::Trace> trace; ///< of the last steps, before the trainer, which writes it
  int64_t tracedSteps = 0;
  std::unique_ptr<runtime::Trainer> trainer;
  std::optional<TrainLog> log;
};

/// Gives the options the `grid` and `zero` of the shortest predicted step (findLayouts) where they
/// ask for that; else it does nothing. Each rank of a run then has them, since none may look for
/// another.
Expected<void> chooseLayout(TrainOptions &options, const Model &model);

/// Prepares a run and does all of it.
Expected<TrainResult> train(const Model &model, const TrainOptions &options);

} // namespace sinter
