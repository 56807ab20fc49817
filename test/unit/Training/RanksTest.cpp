//===- RanksTest.cpp - Runs that ranks share --------------------------------===//
//
// Whatever the layout, the bits are those of one rank: of the weights, the optimizer's states,
// losses and norms, of the model's file, and of runs that go on in other layouts.
//
//===----------------------------------------------------------------------===//

#include "runtime/Checkpoint/BoxFiles.h"
#include "runtime/Collective/ThreadRanks.h"
#include "runtime/Train/TrainStates.h"
#include "test/unit/Training/FileSizeLimit.h"
#include "test/unit/Training/TrainRun.h"
#include "test/unit/Weights/TestFiles.h"

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using sinter::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMicrobatches = 8;

TrainModel layout(uint64_t ranks, bool splits = false) {
  TrainModel model;
  model.accumulates = model.documents = model.seeds = true;
  model.microbatches = model.leaves = kMicrobatches;
  model.ranks = ranks;
  model.splits = splits;
  return model;
}

const std::vector<TrainModel> &layouts() {
  static const std::vector<TrainModel> all = {layout(1),       layout(2), layout(2, true),
                                              layout(4, true), layout(8), layout(8, true)};
  return all;
}

TrainOptions rankOptions(uint64_t steps, const fs::path &directory = {}) {
  TrainOptions options = trainOptions(steps, directory.string());
  options.accumulate = kMicrobatches;
  options.endOfText = 3; // microbatches then have different numbers of targets
  options.evaluateEvery = 2;
  return options;
}

/// A run on as many ranks as a model is for; what each did. `change` makes a rank's options its
/// own.
std::vector<RunResult> runRanks(const TrainModel &model, const TrainOptions &options,
                                const std::function<void(size_t, TrainOptions &)> &change = {},
                                const std::vector<int32_t> &ids = regularIds(900)) {
  std::vector<RunResult> runs(model.ranks);
  auto run = [&](Communicator *communicator, size_t rank) -> Expected<void> {
    TrainOptions own = options;
    own.session.communicator = communicator;
    if (change)
      change(rank, own);
    // 11 windows of 8 tokens, over which no number of ranks divides.
    runs[rank] = runTrainer(model, own, ids, regularIds(83));
    return runs[rank].error.empty() ? Expected<void>() : fail(runs[rank].error, "", "");
  };
  if (model.ranks == 1)
    (void)run(nullptr, 0);
  else
    (void)runThreadRanks(model.ranks, [&](Communicator &communicator) {
      return run(&communicator, communicator.getRank());
    });
  return runs;
}

/// The momentum of all ranks together.
std::vector<float> momentsOf(const TrainModel &model, const std::vector<RunResult> &runs) {
  std::vector<float> moments = runs.front().moments;
  for (size_t rank = 1; model.splits && rank < runs.size(); ++rank)
    moments.insert(moments.end(), runs[rank].moments.begin(), runs[rank].moments.end());
  moments.resize(parameterCount);
  return moments;
}

void expectSameBits(const TrainModel &model, const std::vector<RunResult> &runs,
                    const RunResult &expected) {
  SCOPED_TRACE(std::to_string(model.ranks) + (model.splits ? " ranks, split" : " ranks"));
  for (const RunResult &run : runs) {
    ASSERT_EQ(run.error, "");
    EXPECT_EQ(run.table, expected.table);
    EXPECT_EQ(run.bias, expected.bias);
    ASSERT_EQ(run.records.size(), expected.records.size());
    for (size_t i = 0; i < run.records.size(); ++i) {
      EXPECT_EQ(run.records[i].loss, expected.records[i].loss) << i;
      EXPECT_EQ(run.records[i].gradNorm, expected.records[i].gradNorm) << i;
      EXPECT_EQ(run.records[i].validationLoss, expected.records[i].validationLoss) << i;
      EXPECT_EQ(run.records[i].tokens, expected.records[i].tokens) << i;
    }
  }
  EXPECT_EQ(momentsOf(model, runs), expected.moments);
}

TEST(Ranks, SameBitsInEveryLayout) {
  TrainOptions options = rankOptions(6);
  RunResult expected = runRanks(layout(1), options).front();
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(expected.records.size(), 6u);
  for (const TrainModel &model : layouts())
    expectSameBits(model, runRanks(model, options), expected);
  // The order matters.
  TrainModel sequential = layout(1);
  sequential.leaves = 1;
  EXPECT_NE(runRanks(sequential, options).front().table, expected.table);
}

TEST(Ranks, PartsNeedNotDivideEvenly) {
  TrainOptions options = rankOptions(3);
  options.accumulate = 16;
  TrainModel one = layout(1), many = layout(16, true); // 15 parts of at most 5, and one of none
  one.microbatches = one.leaves = many.microbatches = many.leaves = 16;
  TemporaryDirectory directory;
  RunResult expected = runRanks(one, options, {}, regularIds(1500)).front();
  options.directory = directory.path.string();
  options.schedule.steps = 2;
  ASSERT_EQ(runRanks(many, options, {}, regularIds(1500)).front().error, "");
  options.schedule.steps = 3;
  options.resume = true;
  std::vector<RunResult> resumed = runRanks(many, options, {}, regularIds(1500));
  ASSERT_EQ(resumed.front().error, "");
  EXPECT_EQ(resumed.front().table, expected.table);
  EXPECT_EQ(momentsOf(many, resumed), expected.moments);
}

TEST(Ranks, SameBitsAfterResumingInOtherLayouts) {
  RunResult expected = runRanks(layout(1), rankOptions(8)).front();
  TemporaryDirectory directory;
  TrainOptions model = rankOptions(8);
  model.model = (directory.path / "expected.safetensors").string();
  ASSERT_EQ(runRanks(layout(1), model).front().error, "");
  const std::vector<TrainModel> chains[] = {
      {layout(1), layout(4, true), layout(2), layout(8, true)},
      {layout(8, true), layout(2, true), layout(1), layout(4)},
      {layout(2), layout(1), layout(8), layout(2, true)}};
  int number = 0;
  for (uint64_t saveEvery : {0, 1})
    for (const std::vector<TrainModel> &chain : chains) {
      fs::path out = directory.path / std::to_string(number++);
      std::vector<double> losses;
      std::vector<RunResult> runs;
      for (size_t i = 0; i < chain.size(); ++i) {
        bool last = i + 1 == chain.size();
        TrainOptions options = rankOptions(8, out);
        options.saveEvery = saveEvery;
        options.resume = i != 0;
        options.model = (out / "model.safetensors").string();
        std::atomic<bool> stop = false;
        // Stopped by one rank alone, after steps 1, 3 and 5.
        runs = runRanks(chain[i], options, [&](size_t rank, TrainOptions &own) {
          if (last || rank + 1 != chain[i].ranks)
            return;
          own.stop = &stop;
          own.onStep = [&, i](const StepRecord &record) { stop = record.step == 2 * i + 1; };
        });
        for (const RunResult &run : runs) {
          ASSERT_EQ(run.error, "") << i;
          EXPECT_TRUE(run.warnings.empty());
          EXPECT_EQ(run.result.stopped, !last);
          EXPECT_EQ(run.result.steps, 2 * i + 2);
        }
        for (double loss : runs.front().losses())
          losses.push_back(loss);
      }
      EXPECT_EQ(losses, expected.losses());
      EXPECT_EQ(runs.front().table, expected.table);
      EXPECT_EQ(runs.front().bias, expected.bias);
      EXPECT_EQ(momentsOf(chain.back(), runs), expected.moments);
      auto contentOf = [](const fs::path &path) {
        std::ifstream stream(path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(stream), {});
      };
      EXPECT_FALSE(contentOf(model.model).empty());
      EXPECT_EQ(contentOf(out / "model.safetensors"), contentOf(model.model));
    }
}

TEST(Ranks, OneFlagMayStopAll) {
  TemporaryDirectory directory;
  TrainOptions options = rankOptions(8, directory.path);
  for (uint64_t steps : {1, 3}) {
    std::atomic<bool> stop = false;
    options.stop = &stop;
    for (const RunResult &run : runRanks(layout(4, true), options, [&](size_t rank, auto &own) {
           own.resume = true;
           own.onStep = [&, rank](const StepRecord &record) {
             if (rank == 0)
               stop = record.step + 1 == steps;
           };
         })) {
      EXPECT_EQ(run.error, "");
      EXPECT_EQ(run.result.steps, steps);
      EXPECT_TRUE(run.result.stopped);
    }
  }
}

TEST(Ranks, EachByteIsWrittenOnce) {
  TemporaryDirectory directory;
  TrainOptions options = rankOptions(1, directory.path);
  ASSERT_EQ(runRanks(layout(4, true), options).front().error, "");
  fs::path checkpoint = CheckpointFolder(directory.path / "checkpoints").at(1);
  uint64_t bytes = 0;
  size_t files = 0;
  for (const auto &entry : fs::directory_iterator(checkpoint)) {
    if (entry.path().extension() != ".safetensors")
      continue;
    auto file = MappedFile::open(entry.path());
    ASSERT_TRUE(file);
    auto tensors = readSafetensors(file->getBytes(), "file");
    ASSERT_TRUE(tensors);
    for (const Tensor &tensor : *tensors)
      bytes += tensor.data.size();
    ++files;
  }
  EXPECT_EQ(bytes, 2u * parameterCount * 4);
  EXPECT_EQ(files, 6u); // two tensors of parameters, by two ranks, and four parts
  EXPECT_TRUE(fs::exists(checkpoint / "optimizer-00003-of-00004.safetensors"));
  // One rank's files are as they were.
  fs::path alone = directory.path / "alone";
  ASSERT_EQ(runRanks(layout(1), rankOptions(1, alone)).front().error, "");
  checkpoint = CheckpointFolder(alone / "checkpoints").at(1);
  for (const char *name : {"model.safetensors", "optimizer.safetensors", "state.json"})
    EXPECT_TRUE(fs::exists(checkpoint / name)) << name;
}

TEST(Ranks, MemoryIsPredictedOnEach) {
  TemporaryDirectory directory;
  TrainModel model = layout(4, true);
  TrainOptions options = rankOptions(1, directory.path);
  options.saveEvery = 5;
  std::vector<TrainMemory> predicted(4), planned(4);
  auto result = runThreadRanks(4, [&](Communicator &communicator) -> Expected<void> {
    TrainOptions own = options;
    own.session.communicator = &communicator;
    SINTER_TRY(auto executable, model.parts().load());
    SINTER_TRY(predicted[communicator.getRank()], predictTrainMemory(executable, own, false));
    SINTER_TRY(auto trainer, makeTrainer(model, own, regularIds(900)));
    planned[communicator.getRank()] = trainer->getMemory();
    return {};
  });
  ASSERT_TRUE(result) << result.error().message();
  for (size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(predicted[rank].getPeak(), planned[rank].getPeak()) << rank;
    EXPECT_EQ(predicted[rank].batches, 2u * 2 * 3 * 8 * 4); // two microbatches of eight
    EXPECT_EQ(predicted[rank].session.state, uint64_t(2 * parameterCount + 18) * 4);
  }
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

std::vector<std::string> errorsOf(const std::vector<RunResult> &runs) {
  std::vector<std::string> errors;
  for (const RunResult &run : runs)
    errors.push_back(run.error);
  return errors;
}

TEST(Ranks, AnEarlierRunIsFoundByAll) {
  TemporaryDirectory directory;
  ASSERT_EQ(runRanks(layout(2), rankOptions(1, directory.path)).front().error, "");
  std::vector<std::string> errors = errorsOf(runRanks(layout(2), rankOptions(2, directory.path)));
  EXPECT_NE(errors[0].find("an earlier run is there, up to step-1; add `resume`"),
            std::string::npos)
      << errors[0];
  EXPECT_EQ(errors[1], "rank 0: " + errors[0]);
}

TEST(Ranks, OneThatCannotBeginEndsAll) {
  using Change = std::function<void(TrainOptions &)>;
  for (const auto &[part, change] :
       {std::pair<const char *, Change>("`min_lr`",
                                        [](TrainOptions &o) { o.schedule.minimum = 9; }),
        std::pair<const char *, Change>("`accumulate`",
                                        [](TrainOptions &o) { o.accumulate = 3; })}) {
    std::vector<RunResult> runs =
        runRanks(layout(4), rankOptions(2), [&](size_t rank, TrainOptions &options) {
          if (rank == 2)
            change(options);
        });
    EXPECT_NE(runs[2].error.find(part), std::string::npos) << runs[2].error;
    for (size_t rank : {0, 1, 3})
      EXPECT_EQ(runs[rank].error, "rank 2: " + runs[2].error);
  }
}

TEST(Ranks, TooFewTokensEndAll) {
  for (const std::string &error : errorsOf(runRanks(layout(2), rankOptions(2), {}, regularIds(30))))
    EXPECT_NE(error.find("there are 30 tokens, a step of 2 x 4 tokens, 8 times, needs 65"),
              std::string::npos)
        << error;
}

TEST(Ranks, OtherBlocksOfMicrobatchesAreRefused) {
  TrainOptions options = rankOptions(2);
  options.accumulate = 6;
  for (const std::string &error : errorsOf(runRanks(layout(2), options)))
    EXPECT_TRUE(error.ends_with("give `accumulate` 4 or 8, or `leaves` 2")) << error;
  // More microbatches than it was compiled for, and fewer.
  options.accumulate = 16;
  for (const std::string &error : errorsOf(runRanks(layout(2), options)))
    EXPECT_NE(error.find("it has no program 'carry.2', which a step of 16 microbatches needs"),
              std::string::npos)
        << error;
  options.accumulate = 4;
  for (const std::string &error : errorsOf(runRanks(layout(2), options)))
    EXPECT_NE(error.find("it has a program 'carry.1', for more than a step of 4 microbatches"),
              std::string::npos)
        << error;
}

TEST(Ranks, AnotherTreeIsAnotherRun) {
  TemporaryDirectory directory;
  ASSERT_EQ(runRanks(layout(2), rankOptions(1, directory.path)).front().error, "");
  TrainModel model = layout(2);
  model.leaves = 4;
  TrainOptions options = rankOptions(2, directory.path);
  options.resume = true;
  for (const std::string &error : errorsOf(runRanks(model, options)))
    EXPECT_NE(error.find("`leaves` was 8 when it was written and is 4 now"), std::string::npos)
        << error;
}

TEST(Ranks, NonFiniteNumbersAreNamedByAll) {
  std::vector<int32_t> ids = regularIds(900);
  TrainOptions options = rankOptions(3);
  options.order = DataOrder::Sequential;
  ids[102] = poison; // a target of microbatch 4 of step 1: of rank 2
  for (const std::string &error : errorsOf(runRanks(layout(4, true), options, {}, ids)))
    EXPECT_EQ(error, "step 1: the loss is nan; nan first shows in poison of layer.1; lower `lr` or "
                     "raise `warmup`");
}

TEST(Ranks, SkipTheSameSteps) {
  std::vector<int32_t> ids = regularIds(900);
  ids[102] = poison;
  TrainOptions options = rankOptions(4);
  options.order = DataOrder::Sequential;
  options.evaluateEvery = 0;
  TrainModel one = layout(1), four = layout(4, true);
  one.scales = four.scales = true;
  RunResult expected = runRanks(one, options, {}, ids).front();
  ASSERT_EQ(expected.error, "");
  EXPECT_TRUE(expected.records[1].skipped);
  std::vector<RunResult> runs = runRanks(four, options, {}, ids);
  for (const RunResult &run : runs) {
    ASSERT_EQ(run.error, "");
    EXPECT_TRUE(run.records[1].skipped);
    EXPECT_FALSE(run.records[2].skipped);
    EXPECT_EQ(run.table, expected.table);
  }
  EXPECT_EQ(momentsOf(four, runs), expected.moments);
}

TEST(Ranks, SavesThatFailAreWarningsOfTheFirst) {
  RunResult expected = runRanks(layout(1), rankOptions(6)).front();
  TemporaryDirectory directory;
  TrainOptions options = rankOptions(6, directory.path);
  options.saveEvery = 2;
  std::vector<RunResult> runs;
  {
    std::optional<FileSizeLimit> limit;
    runs = runRanks(layout(2, true), options, [&](size_t rank, TrainOptions &own) {
      if (rank == 0)
        own.onStep = [&](const StepRecord &record) {
          if (record.step == 3)
            limit.emplace(100); // the checkpoints of 4 and 6 fail, that of 2 may
        };
    });
  }
  EXPECT_NE(runs[0].error.find("cannot be written"), std::string::npos) << runs[0].error;
  EXPECT_NE(runs[1].error.find("cannot be written"), std::string::npos) << runs[1].error;
  EXPECT_GE(runs[0].warnings.size(), 2u);
  EXPECT_TRUE(runs[1].warnings.empty());
  fs::path folder = directory.path / "checkpoints";
  for (const char *name : {"step-4", "step-6", ".writing-step-4", ".writing-step-6"})
    EXPECT_FALSE(fs::exists(folder / name)) << name;
  options.resume = true;
  runs = runRanks(layout(4), options);
  ASSERT_EQ(runs[0].error, "");
  EXPECT_EQ(runs[0].table, expected.table);
}

TEST(Ranks, DamagedPartsArePassedOver) {
  TemporaryDirectory directory;
  TrainOptions options = rankOptions(4, directory.path);
  options.saveEvery = 2;
  std::vector<RunResult> whole = runRanks(layout(4, true), options);
  ASSERT_EQ(whole.front().error, "");
  fs::path folder = directory.path / "checkpoints";
  fs::resize_file(folder / "step-4" / "optimizer-00002-of-00004.safetensors", 100);
  options.resume = true;
  std::vector<RunResult> resumed = runRanks(layout(2), options);
  ASSERT_EQ(resumed[0].error, "");
  ASSERT_EQ(resumed[0].warnings.size(), 1u);
  EXPECT_NE(resumed[0].warnings[0].find("optimizer-00002-of-00004.safetensors: it has 100 bytes"),
            std::string::npos);
  EXPECT_TRUE(resumed[1].warnings.empty());
  EXPECT_EQ(resumed[0].records.front().step, 2u);
  EXPECT_EQ(resumed[0].table, whole[0].table);
}

} // namespace
