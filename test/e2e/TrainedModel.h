//===- TrainedModel.h - A kept model and its first steps --------*- C++ -*-===//
#pragma once

#include "runtime/Train/Trainer.h"
#include "test/e2e/CompiledModel.h"
#include <string>
#include <vector>

namespace sinter::test {

/// What some steps came to.
struct TrainedSteps {
  std::vector<double> losses, norms;
  std::vector<float> parameters;
};

/// What a model has instead of its own; 0: as it is.
struct OtherSizes {
  int64_t layers = 0, mlp = 0, keyHeads = 0;
};

/// A kept model that is trained from its checkpoint on the tokens of its reference
/// (training.json, see tools/dev/make_training_references.py), or where it has none on some of its
/// vocabulary.
class TrainedModel {
public:
  /// Steps of the reference, and the sizes of each.
  static constexpr uint64_t kSteps = 12;
  static constexpr int64_t kBatch = 3, kSequence = 24;

  /// Reads the model; failures are failures of the test.
  explicit TrainedModel(const std::string &name);
  /// The same of other sizes, and with random weights.
  TrainedModel(const std::string &name, const OtherSizes &sizes);
  ~TrainedModel();

  /// Has it train on so many tokens, each one of three that may follow the last, instead of the
  /// reference's few.
  void readRandomText(uint64_t count);

  /// Options for a step of the reference's sizes.
  CompileOptions options() const;

  /// Compiles; every program's arena is next to its lower bound.
  std::shared_ptr<const runtime::Executable> compile(const CompileOptions &options) const;

  TrainedSteps train(std::shared_ptr<const runtime::Executable> executable, unsigned threads = 1,
                     double learningRate = 3e-4, uint64_t accumulate = 1,
                     uint64_t steps = kSteps) const;

  TrainedSteps train(const CompileOptions &options) const { return train(compile(options)); }

  /// The losses of a run that goes on in `directory` with another executable every `steps` steps.
  std::vector<double>
  trainInTurns(const std::vector<std::shared_ptr<const runtime::Executable>> &executables,
               uint64_t steps, const std::filesystem::path &directory) const;

  /// Numbers of the reference, one a step.
  std::vector<double> expected(const char *key) const;

  /// What train() gives the trainer.
  runtime::TrainOptions trainOptions(unsigned threads, double learningRate) const;
  runtime::TokenStream tokens() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// The largest difference of two numbers of the same place, relative to the second; of as many as
/// the first has.
double worstDifference(const std::vector<double> &actual, const std::vector<double> &expected);

} // namespace sinter::test
