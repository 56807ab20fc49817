// The library as a program uses it: models in two threads, cancellation, errors as values.
#include "sinter/Compile.h"
#include "sinter/Evaluate.h"
#include "sinter/Generate.h"
#include "sinter/Train.h"
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

namespace sinter {
namespace {

namespace fs = std::filesystem;

class Library : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("sinter-library-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    std::ofstream data(folder / "ids.bin", std::ios::binary);
    for (uint16_t i = 0; i < 400; ++i) {
      uint16_t id = static_cast<uint16_t>((i * i + 3 * i) % 60);
      data.write(reinterpret_cast<const char *>(&id), sizeof id);
    }
  }
  void TearDown() override { fs::remove_all(folder); }

  static fs::path findModel(const char *name) { return fs::path(SINTER_TEST_MODELS) / name; }

  TrainOptions makeTrainOptions() const {
    TrainOptions options;
    options.data.files = {(folder / "ids.bin").string()};
    options.steps = 3;
    options.batch = 2;
    options.chunk = 8;
    options.threads = 1;
    options.noCache = true; // the compiler runs, too
    return options;
  }

  fs::path folder;
};

/// Losses of training steps and tokens that are generated: what a thread computes of a model.
struct Outcome {
  std::vector<double> losses;
  std::vector<int32_t> ids;

  bool operator==(const Outcome &) const = default;
};

Expected<Outcome> trainAndGenerate(const fs::path &path, TrainOptions options) {
  Outcome outcome;
  SINTER_TRY(Model model, Model::open(path));
  options.onStep = [&](const runtime::StepRecord &record) {
    outcome.losses.push_back(record.loss);
  };
  SINTER_CHECK(train(model, options));
  RunOptions run;
  run.threads = 1;
  run.noCache = true;
  GenerateOptions generation;
  generation.tokens = {1, 2, 3};
  generation.maxNewTokens = 8;
  generation.temperature = 1;
  generation.threads = 1;
  SINTER_TRY(LoadedModel loaded, loadForGeneration(model, run, 3, 8));
  SINTER_TRY(Generated generated, generate(loaded, generation));
  outcome.ids = std::move(generated.ids);
  return outcome;
}

TEST_F(Library, TwoModelsInTwoThreadsComputeWhatEachComputesAlone) {
  const fs::path paths[] = {findModel("llama"), findModel("gpt2")};
  std::vector<Outcome> alone;
  for (const fs::path &path : paths) {
    auto outcome = trainAndGenerate(path, makeTrainOptions());
    ASSERT_TRUE(outcome) << outcome.error().message();
    ASSERT_EQ(outcome->losses.size(), 3u);
    alone.push_back(std::move(*outcome));
  }
  EXPECT_FALSE(alone[0] == alone[1]);
  Expected<Outcome> together[2];
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] { together[i] = trainAndGenerate(paths[i], makeTrainOptions()); });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(together[i]) << together[i].error().message();
    EXPECT_TRUE(*together[i] == alone[i]) << paths[i];
  }
}

TEST_F(Library, TellsHowLongWorkGoesOnAndEndsItWhenAsked) {
  auto model = Model::open(findModel("llama"));
  ASSERT_TRUE(model) << model.error().message();
  std::atomic<bool> stop = false;
  EvaluateOptions options;
  options.files = {(folder / "ids.bin").string()};
  options.sequence = 8;
  options.threads = 1;
  options.observer.stop = &stop;
  std::vector<std::string> begun, ended;
  options.observer.onProgress = [&](std::string_view what, uint64_t done, uint64_t total) {
    if (done == 0)
      begun.emplace_back(what);
    if (total != 0 && done == total)
      ended.emplace_back(what);
    stop = what == "evaluating" && done > 100;
  };
  auto result = evaluate(*model, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "evaluating: was stopped");
  ASSERT_FALSE(begun.empty());
  EXPECT_EQ(begun.back(), "evaluating");
  EXPECT_EQ(ended.back(), "evaluating");
}

TEST_F(Library, MistakesAreErrorsThatNameOptionsByTheirIds) {
  auto model = Model::open(findModel("gpt2"));
  ASSERT_TRUE(model) << model.error().message();
  auto messageOf = [&](auto change) {
    TrainOptions options = makeTrainOptions();
    change(options);
    auto result = train(*model, options);
    return result ? std::string() : result.error().message();
  };
  EXPECT_EQ(messageOf([](TrainOptions &o) { o.training.dropout = 1; }),
            "`dropout` 1: is not a number from 0 to below 1; give 0.1, for example");
  EXPECT_EQ(messageOf([](TrainOptions &o) { o.memoryBudget = "much"; }),
            "`memory_budget` much: is not a size; write a number and B, KiB, MiB, GiB, KB, MB or "
            "GB, as 8GiB");
  EXPECT_EQ(messageOf([](TrainOptions &o) { o.evaluateEvery = 1; }),
            "`eval_every` 1: there is nothing to evaluate on; give `val_data` FILE, or `val_split` "
            "0.1 for a part of `data`");
  EXPECT_EQ(messageOf([](TrainOptions &o) { o.data.files = {"none.bin"}; }),
            "`data` none.bin: there is no such file; check the path; a pattern stands in quotes");
  EXPECT_FALSE(Model::open("no/such/model"));
  EXPECT_FALSE(LoadedModel::open("no/such/model.sinter"));
}

} // namespace
} // namespace sinter
