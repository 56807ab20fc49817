#include "runtime/Checkpoint/CheckpointFolder.h"
#include "test/unit/Training/FileSizeLimit.h"
#include "test/unit/Training/TrainRun.h"
#include "test/unit/Weights/TestFiles.h"
#include <chrono>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using sinter::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

struct Resume : ::testing::Test {
  TemporaryDirectory directory;

  TrainOptions options(uint64_t steps, bool resume = false) const {
    TrainOptions options = trainOptions(steps, directory.path.string());
    options.resume = resume;
    options.identity = {{"optimizer", "sgd"}};
    return options;
  }
  fs::path at(const std::string &name) const { return directory.path / "checkpoints" / name; }
  std::vector<uint64_t> steps() const {
    std::vector<uint64_t> steps;
    for (const CheckpointEntry &entry : CheckpointFolder(at("")).list())
      steps.push_back(entry.step);
    return steps;
  }
};

using Steps = std::vector<uint64_t>;

// Sets `stop` after a step.
void stopAfter(TrainOptions &options, uint64_t step, std::atomic<bool> &stop) {
  options.stop = &stop;
  options.onStep = [&stop, step](const StepRecord &record) { stop = record.step == step; };
}

std::string fileOf(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_F(Resume, SameBitsAsARunThatNeverStopped) {
  struct Variant {
    TrainModel model;
    uint64_t accumulate;
    std::optional<int32_t> endOfText;
    DataOrder order;
  };
  const Variant variants[] = {{{2, 4, false, false, false}, 1, std::nullopt, DataOrder::Shuffled},
                              {{2, 4, true, false, false}, 3, std::nullopt, DataOrder::Sequential},
                              {{2, 4, false, true, true}, 1, 3, DataOrder::Shuffled}};
  for (const Variant &variant : variants) {
    fs::remove_all(directory.path / "checkpoints");
    auto chosen = [&](bool resume) {
      TrainOptions result = options(20, resume);
      result.accumulate = variant.accumulate;
      result.endOfText = variant.endOfText;
      result.order = variant.order;
      result.scaler.interval = 6; // grows before and after the stop
      return result;
    };
    TrainOptions whole = chosen(false);
    whole.directory.clear();
    RunResult expected = runTrainer(variant.model, whole);
    ASSERT_EQ(expected.error, "");

    std::atomic<bool> stop = false;
    TrainOptions first = chosen(false);
    stopAfter(first, 6, stop);
    RunResult before = runTrainer(variant.model, first);
    ASSERT_EQ(before.error, "");
    EXPECT_TRUE(before.result.stopped);
    EXPECT_EQ(before.result.steps, 7u);
    EXPECT_EQ(steps(), (Steps{7}));

    TrainOptions second = chosen(true);
    second.session.threads = 2;
    RunResult after = runTrainer(variant.model, second);
    ASSERT_EQ(after.error, "");
    EXPECT_FALSE(after.result.stopped);
    std::vector<double> losses = before.losses();
    for (double loss : after.losses())
      losses.push_back(loss);
    EXPECT_EQ(losses, expected.losses());
    EXPECT_EQ(after.records.front().tokens, expected.records[7].tokens);
    expectSameEnd(after, expected);
  }
}

TEST_F(Resume, OneRunWritesToAFolder) {
  {
    auto first = makeTrainer({}, options(3));
    ASSERT_TRUE(first) << first.error().message();
    for (bool resume : {false, true})
      EXPECT_NE(runTrainer({}, options(3, resume)).error.find("another run is writing to it"),
                std::string::npos);
  }
  EXPECT_EQ(runTrainer({}, options(3)).error, "");
}

TEST_F(Resume, DoesNotBeginAnewWhereNoCheckpointIsWhole) {
  ASSERT_EQ(runTrainer({}, options(3)).error, "");
  ASSERT_EQ(steps(), (Steps{3}));
  fs::resize_file(at("step-3/state.json"), 1);
  RunResult run = runTrainer({}, options(5, /*resume=*/true));
  EXPECT_NE(run.error.find("none of its checkpoints is whole"), std::string::npos) << run.error;
  EXPECT_EQ(steps(), (Steps{3}));
}

TEST_F(Resume, StoppedWhileItEvaluatesItSavesAndEvaluates) {
  std::atomic<bool> stop = true;
  TrainOptions with = options(5);
  with.evaluateEvery = 1;
  with.stop = &stop;
  RunResult run = runTrainer({}, with, regularIds(300), regularIds(40));
  ASSERT_EQ(run.error, "");
  EXPECT_TRUE(run.result.stopped);
  EXPECT_EQ(steps(), (Steps{1}));
  ASSERT_EQ(run.records.size(), 1u);
  EXPECT_TRUE(run.records[0].validationLoss);
}

TEST_F(Resume, BeginsWhereThereIsNothingToResume) {
  EXPECT_EQ(runTrainer({}, options(3, true)).records.size(), 3u);
  EXPECT_EQ(runTrainer({}, options(3, true)).records.size(), 0u);
  EXPECT_EQ(runTrainer({}, options(5, true)).records.size(), 2u);
}

TEST_F(Resume, AnEarlierRunIsNotWrittenOver) {
  runTrainer({}, options(3));
  EXPECT_EQ(runTrainer({}, options(3)).error,
            at("").parent_path().string() +
                ": an earlier run is there, up to step-3; add `resume` to go on with it, or choose "
                "another `out`");
}

TEST_F(Resume, KeepsTheNewestCheckpoints) {
  TrainOptions with = options(10);
  with.saveEvery = 2;
  with.keep = 2;
  runTrainer({}, with);
  EXPECT_EQ(steps(), (Steps{10, 8}));
}

TEST_F(Resume, ParametersThatAreNotFiniteReplaceNoCheckpoint) {
  TrainOptions with = options(2);
  with.keep = 1;
  runTrainer({}, with);
  with = options(3, true);
  with.keep = 1;
  with.schedule.learningRate = 1e300; // infinite as a float
  RunResult run = runTrainer({}, with);
  EXPECT_NE(run.error.find("checkpoint of step 3: the parameter '"), std::string::npos)
      << run.error;
  EXPECT_EQ(steps(), (Steps{2}));
}

TEST_F(Resume, DamagedCheckpointsArePassedOver) {
  TrainOptions with = options(9);
  with.saveEvery = 3;
  RunResult whole = runTrainer({}, with);
  fs::resize_file(at("step-9/optimizer.safetensors"), 100);
  fs::remove(at("step-6/state.json"));
  with.resume = true;
  RunResult resumed = runTrainer({}, with);
  ASSERT_EQ(resumed.error, "");
  ASSERT_EQ(resumed.warnings.size(), 2u);
  EXPECT_NE(resumed.warnings[0].find("step-9/optimizer.safetensors: it has 100 bytes"),
            std::string::npos);
  EXPECT_NE(resumed.warnings[1].find("step-6/state.json"), std::string::npos);
  EXPECT_EQ(resumed.records.front().step, 3u);
  expectSameEnd(resumed, whole);
  EXPECT_EQ(steps(), (Steps{9, 6, 3}));
  EXPECT_EQ(runTrainer({}, with).warnings.size(), 0u); // they were replaced
}

TEST_F(Resume, OptionsThatDifferAreNamed) {
  runTrainer({}, options(3));
  auto errorWith = [&](auto change) {
    TrainOptions changed = options(6, true);
    change(changed);
    return runTrainer({}, changed).error;
  };
  std::string prefix = at("step-3").string() + ": ";
  EXPECT_EQ(errorWith([](TrainOptions &o) { o.identity["optimizer"] = "adamw"; }),
            prefix + "`optimizer` was sgd when it was written and is adamw now; give the options "
                     "of then, or begin anew in another `out`");
  EXPECT_NE(errorWith([](TrainOptions &o) {
              o.identity["optimizer"] = "";
            }).find("`optimizer` was sgd when it was written and is empty now"),
            std::string::npos);
  EXPECT_NE(errorWith([](TrainOptions &o) { o.seed = 1; }).find("`seed` was 11"),
            std::string::npos);
  EXPECT_NE(errorWith([](TrainOptions &o) {
              o.order = DataOrder::Sequential;
            }).find("`order` was shuffled"),
            std::string::npos);
  TrainOptions changed = options(6, true);
  EXPECT_NE(runTrainer({4, 4}, changed).error.find("`batch` was 2 when it was written and is 4"),
            std::string::npos);
  EXPECT_NE(runTrainer({}, changed, regularIds(200)).error.find("training tokens was 300"),
            std::string::npos);
  EXPECT_NE(runTrainer({2, 4, false, true, false}, changed).error.find("without loss scaling"),
            std::string::npos);
}

TEST_F(Resume, WhatMayBeChangedIsTold) {
  auto chosen = [&](uint64_t steps, double rate) {
    TrainOptions with = options(steps, true);
    with.schedule.learningRate = rate;
    with.adjustable = {{"lr", rate == 0.5 ? "0.5" : "0.25"}, {"steps", std::to_string(steps)}};
    return with;
  };
  auto changesOf = [&](const TrainOptions &with) {
    std::vector<std::string> changes;
    auto trainer = makeTrainer({}, with);
    EXPECT_TRUE(trainer);
    for (const OptionChange &change : (*trainer)->getChanges())
      changes.push_back(change.name + " " + change.was + " " + change.is);
    return changes;
  };
  EXPECT_TRUE(changesOf(chosen(3, 0.5)).empty());
  ASSERT_EQ(runTrainer({}, chosen(3, 0.5)).error, "");
  EXPECT_TRUE(changesOf(chosen(3, 0.5)).empty());
  TrainOptions other = chosen(6, 0.25);
  EXPECT_EQ(changesOf(other), (std::vector<std::string>{"lr 0.5 0.25", "steps 3 6"}));
  RunResult resumed = runTrainer({}, other);
  ASSERT_EQ(resumed.records.size(), 3u);
  EXPECT_EQ(resumed.records[0].learningRate, 0.25);
  EXPECT_TRUE(changesOf(other).empty()); // the newest checkpoint has them
  other.adjustable["warmup"] = "2";      // which an older state does not tell of
  EXPECT_TRUE(changesOf(other).empty());
}

TEST_F(Resume, AnotherModelIsNamed) {
  runTrainer({}, options(3));
  auto errorFor = [&](const Parts &parts) {
    auto trainer =
        Trainer::create(*parts.load(), {streamOf(regularIds(300)), std::nullopt}, options(6, true));
    return trainer ? "" : trainer.error().message();
  };
  Parts parts = TrainModel().parts();
  parts.states[2].name = "adamw.m";
  EXPECT_NE(errorFor(parts).find("optimizer.safetensors: tensor 'adamw.m': is missing"),
            std::string::npos);
  parts = TrainModel().parts();
  parts.states[0].shape = {vocabulary * 2, vocabulary / 2};
  parts.checkpoint[0].shape = parts.states[0].shape;
  EXPECT_NE(
      errorFor(parts).find("tensor 'table.weight': is F32 [8, 8], this model has F32 [16, 4]"),
      std::string::npos);
  parts = TrainModel().parts();
  parts.states.erase(parts.states.begin() + 2);
  EXPECT_NE(errorFor(parts).find("tensor 'sgd.m': this model and optimizer have no such state"),
            std::string::npos);
}

TEST_F(Resume, FullDiskIsAWarningAndLosesNothing) {
  RunResult expected = runTrainer({}, trainOptions(16));
  TrainOptions with = options(16);
  with.saveEvery = 2;
  with.keep = 0;
  std::optional<FileSizeLimit> limit;
  // A checkpoint is written beside steps, until the next one begins: those of 6 and 8 fail, those
  // of 4 and 10 may.
  with.onStep = [&](const StepRecord &record) {
    if (record.step == 5)
      limit.emplace(400);
    if (record.step == 11)
      limit.reset();
  };
  RunResult run = runTrainer({}, with);
  EXPECT_EQ(run.error, ""); // the last ones could be written
  expectSameEnd(run, expected);
  ASSERT_GE(run.warnings.size(), 2u);
  EXPECT_NE(run.warnings.back().find("cannot be written"), std::string::npos);
  Steps there = steps();
  EXPECT_EQ(Steps(there.begin(), there.begin() + 3), (Steps{16, 14, 12}));
  for (uint64_t failed : {6, 8})
    EXPECT_EQ(std::ranges::count(there, failed), 0) << failed;
  EXPECT_EQ(there.back(), 2u);
}

TEST_F(Resume, TheLastSaveThatFailsIsAnErrorAtTheEnd) {
  TrainOptions with = options(6);
  with.saveEvery = 2;
  std::optional<FileSizeLimit> limit;
  with.onStep = [&](const StepRecord &record) {
    if (record.step == 5) // the checkpoint of 2 is whole
      limit.emplace(400);
  };
  RunResult run = runTrainer({}, with);
  limit.reset();
  EXPECT_EQ(run.records.size(), 6u);
  EXPECT_NE(run.error.find("cannot be written"), std::string::npos) << run.error;
  EXPECT_EQ(steps().back(), 2u);
  RunResult resumed = runTrainer({}, options(6, true));
  EXPECT_EQ(resumed.error, "");
  expectSameEnd(resumed, runTrainer({}, trainOptions(6)));
}

TEST_F(Resume, TheModelIsWrittenThoughItsCheckpointCannotBe) {
  std::string model = (directory.path / "model.safetensors").string();
  TrainOptions with = options(4);
  with.model = model;
  // What stands in the folder's place takes no checkpoint.
  with.onStep = [&](const StepRecord &record) {
    if (record.step == 3) {
      fs::remove_all(at("").parent_path());
      std::ofstream(at("").parent_path()) << "full";
    }
  };
  RunResult run = runTrainer({}, with);
  EXPECT_NE(run.error.find("checkpoints/"), std::string::npos) << run.error;
  EXPECT_TRUE(run.error.ends_with("; the model itself is whole: " + model)) << run.error;
  auto whole = makeTrainer({}, trainOptions(4));
  ASSERT_TRUE((*whole)->run());
  ASSERT_TRUE((*whole)->writeModel((directory.path / "expected").string()));
  EXPECT_EQ(fileOf(model), fileOf(directory.path / "expected"));
}

TEST_F(Resume, TheCheckpointIsWrittenThoughTheModelCannotBe) {
  TrainOptions with = options(4);
  with.model = (directory.path / "none" / "model.safetensors").string();
  RunResult run = runTrainer({}, with);
  EXPECT_NE(run.error.find("none/model.safetensors: cannot be written"), std::string::npos)
      << run.error;
  EXPECT_TRUE(run.error.ends_with("; the last checkpoint is " + at("step-4").string()))
      << run.error;
  // There is nothing left to do but that.
  fs::create_directory(directory.path / "none");
  with.resume = true;
  EXPECT_EQ(runTrainer({}, with).error, "");
  EXPECT_TRUE(fs::exists(with.model));
}

TEST_F(Resume, ParametersThatAreNotFiniteAreNoModel) {
  TrainOptions with = options(2);
  with.model = (directory.path / "model.safetensors").string();
  with.schedule.learningRate = 1e300; // infinite as a float
  RunResult run = runTrainer({}, with);
  EXPECT_FALSE(fs::exists(with.model));
  EXPECT_NE(run.error, "");
}

//===----------------------------------------------------------------------===//
// Killed
//===----------------------------------------------------------------------===//

// Trains in a process of its own, which writes (step, loss) of each step to `log`.
pid_t startChild(TrainOptions options, const fs::path &log) {
  pid_t child = ::fork();
  if (child != 0)
    return child;
  std::ofstream file(log, std::ios::binary | std::ios::app);
  options.onStep = [&](const StepRecord &record) {
    struct {
      uint64_t step;
      double loss;
    } entry{record.step, record.loss};
    file.write(reinterpret_cast<const char *>(&entry), sizeof entry).flush();
  };
  auto trainer = makeTrainer({}, options);
  ::_exit(trainer && (*trainer)->run() ? 0 : 1);
}

TEST_F(Resume, KilledAtAnyMomentGivesTheSameBits) {
  constexpr uint64_t count = 60;
  RunResult expected = runTrainer({}, trainOptions(count));
  fs::path log = directory.path / "log";
  std::mt19937 random(std::random_device{}());
  int kills = 0, status = 0;
  for (bool done = false; !done;) {
    TrainOptions with = options(count, true);
    with.saveEvery = 1;
    with.keep = 2;
    with.session.threads = 1 + random() % 2;
    pid_t child = startChild(with, log);
    ASSERT_GT(child, 0);
    if (kills < 25) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 120'000));
      ::kill(child, SIGKILL);
      ++kills;
    }
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    done = WIFEXITED(status) && kills == 25;
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
    }
  }
  ASSERT_TRUE(WIFEXITED(status));

  // Every step that was ever done, perhaps more than once, had the same loss.
  std::ifstream file(log, std::ios::binary);
  std::vector<bool> seen(count);
  uint64_t step;
  double loss;
  while (file.read(reinterpret_cast<char *>(&step), 8) &&
         file.read(reinterpret_cast<char *>(&loss), 8)) {
    ASSERT_LT(step, count);
    EXPECT_EQ(loss, expected.records[step].loss) << step;
    seen[step] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), int64_t(count));
  RunResult last = runTrainer({}, options(count, true));
  EXPECT_TRUE(last.records.empty());
  expectSameEnd(last, expected);
}

} // namespace
