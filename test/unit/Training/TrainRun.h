// Runs of the small language model of TrainExecutable.h.
#pragma once

#include "runtime/Train/Trainer.h"
#include "test/unit/Training/Tokens.h"
#include "test/unit/Training/TrainExecutable.h"
#include <gtest/gtest.h>

namespace sinter::runtime::testing {

/// `count` ids below `poison` that follow each other with some regularity.
inline std::vector<int32_t> regularIds(size_t count) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int32_t>((i * i + i / 3) % 5));
  return ids;
}

inline TokenStream streamOf(const std::vector<int32_t> &ids) {
  std::vector<TokenFile> files;
  files.push_back(tokenFile(ids));
  return TokenStream(std::move(files));
}

inline TrainOptions trainOptions(uint64_t steps, const std::string &directory = "") {
  TrainOptions options;
  options.schedule.learningRate = 0.5;
  options.schedule.steps = steps;
  options.seed = 11;
  options.directory = directory;
  options.session.threads = 1;
  options.session.kernels = TrainModel::kernels();
  return options;
}

inline Expected<std::unique_ptr<Trainer>>
makeTrainer(const TrainModel &model, TrainOptions options,
            std::vector<int32_t> ids = regularIds(300),
            std::optional<std::vector<int32_t>> validation = std::nullopt) {
  TrainData data{streamOf(ids), std::nullopt};
  if (validation)
    data.validation = streamOf(*validation);
  SINTER_TRY(auto executable, model.parts().load());
  return Trainer::create(std::move(executable), std::move(data), std::move(options));
}

inline std::vector<float> stateOf(const Trainer &trainer, std::string_view name) {
  size_t count = 1;
  TensorView state = *trainer.getSession().state(name);
  for (int64_t extent : state.shape)
    count *= static_cast<size_t>(extent);
  std::vector<float> values(count);
  EXPECT_TRUE(trainer.getSession().readState(name, std::as_writable_bytes(std::span(values))));
  return values;
}

/// What a run did, to the bit.
struct RunResult {
  std::vector<StepRecord> records;
  std::vector<std::string> warnings;
  std::vector<float> table, bias, moments;
  TrainResult result;
  std::string error;

  std::vector<double> losses() const {
    std::vector<double> losses;
    for (const StepRecord &record : records)
      losses.push_back(record.loss);
    return losses;
  }
};

inline RunResult runTrainer(const TrainModel &model, TrainOptions options,
                            std::vector<int32_t> ids = regularIds(300),
                            std::optional<std::vector<int32_t>> validation = std::nullopt) {
  RunResult run;
  auto onStep = options.onStep;
  options.onStep = [&](const StepRecord &record) {
    run.records.push_back(record);
    if (onStep)
      onStep(record);
  };
  options.onWarning = [&](const Error &error) { run.warnings.push_back(error.message()); };
  auto trainer = makeTrainer(model, std::move(options), std::move(ids), std::move(validation));
  if (!trainer) {
    run.error = trainer.error().message();
    return run;
  }
  auto result = (*trainer)->run();
  if (result)
    run.result = *result;
  else
    run.error = result.error().message();
  run.table = stateOf(**trainer, "table.weight");
  run.bias = stateOf(**trainer, "head.bias");
  run.moments = stateOf(**trainer, "sgd.m");
  return run;
}

inline void expectSameEnd(const RunResult &a, const RunResult &b) {
  EXPECT_EQ(a.table, b.table);
  EXPECT_EQ(a.bias, b.bias);
  EXPECT_EQ(a.moments, b.moments);
}

} // namespace sinter::runtime::testing
