//===- TrainingOnRanksTest.cpp - Kept models that ranks train together ------===//
//
// Small models are compiled for grids of ranks, which are threads here, and trained: weights,
// optimizer states, losses and norms have the bits of one rank, however the ranks share them, and
// so have runs that are stopped and go on in other layouts. That the sum of the gradients is that
// of the tree is held by single gradients, added here.
//
//===----------------------------------------------------------------------===//

#include "runtime/Checkpoint/BoxFiles.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Collective/ThreadRanks.h"
#include "runtime/Train/TrainPrograms.h"
#include "runtime/Train/TrainStates.h"
#include "test/e2e/TrainedModel.h"
#include "test/unit/Training/Sums.h"
#include "test/unit/Weights/TestFiles.h"
#include "gtest/gtest.h"

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::test;
namespace fs = std::filesystem;

namespace {
constexpr uint64_t kSteps = 6, kMicrobatches = 8;

/// How ranks share a run.
struct Layout {
  std::string grid;
  int64_t zero = 0;
  std::string schedule = ""; ///< of a pipeline

  auto operator<=>(const Layout &) const = default;
};

std::string describe(const Layout &layout) {
  return layout.grid + ", zero " + std::to_string(layout.zero) + " " + layout.schedule;
}

template <typename T> T valueOf(Expected<T> expected) {
  EXPECT_TRUE(expected) << expected.error().message();
  return std::move(*expected);
}

/// A model's training, with dropout, in microbatches of one row.
class SharedRun {
public:
  /// @param layers 0: the model's own, and its weights; else random ones.
  SharedRun(const std::string &name, DType type, int64_t layers)
      : model(layers == 0 ? TrainedModel(name) : TrainedModel(name, layers)) {
    options = model.options();
    options.batch = 1;
    options.computeType = type;
    options.training.dropout = 0.1;
    options.training.accumulate = kMicrobatches;
  }

  std::shared_ptr<const Executable> compile(const Layout &layout) {
    std::shared_ptr<const Executable> &known = executables[layout];
    if (known)
      return known;
    CompileOptions changed = options;
    changed.grid = layout.grid;
    changed.zero = layout.zero;
    changed.pipelineSchedule = layout.schedule;
    return known = model.compile(changed);
  }

  /// Trains in `directory`, on from where a run is there, for so many steps of kSteps.
  std::vector<StepRecord> train(const Layout &layout, const fs::path &directory,
                                uint64_t steps = kSteps) {
    auto executable = compile(layout);
    size_t ranks = countRanks(executable->root());
    std::vector<std::vector<StepRecord>> records(ranks);
    std::atomic<bool> stop = false;
    auto run = [&](Communicator *communicator, size_t rank) -> Expected<void> {
      TrainOptions run = model.trainOptions(/*threads=*/1, /*learningRate=*/1e-2);
      run.schedule.steps = kSteps;
      run.accumulate = kMicrobatches;
      run.seed = 5;
      run.session.communicator = communicator;
      run.directory = directory.string();
      run.resume = true;
      run.stop = &stop;
      run.onStep = [&, rank](const StepRecord &record) {
        records[rank].push_back(record);
        if (rank == 0)
          stop = record.step + 1 == steps;
      };
      SINTER_TRY(auto trainer, Trainer::create(executable, {model.tokens(), std::nullopt}, run));
      SINTER_TRY(TrainResult result, trainer->run());
      EXPECT_EQ(result.steps, steps);
      return {};
    };
    Expected<void> done =
        ranks == 1 ? run(nullptr, 0) : runThreadRanks(ranks, [&](Communicator &communicator) {
          return run(&communicator, communicator.rank());
        });
    EXPECT_TRUE(done) << done.error().message();
    for (const auto &own : records)
      for (size_t i = 0; i < own.size(); ++i) {
        EXPECT_EQ(own[i].loss, records[0][i].loss);
        EXPECT_EQ(own[i].gradNorm, records[0][i].gradNorm);
      }
    return records[0];
  }

  /// All bytes of the states in the checkpoint behind the last step, whoever wrote them.
  std::vector<std::byte> statesIn(const fs::path &directory) {
    fs::path checkpoint = CheckpointFolder(directory / "checkpoints").at(kSteps);
    auto model = valueOf(BoxFiles::open(checkpoint, modelFile));
    auto optimizer = valueOf(BoxFiles::open(checkpoint, optimizerFile));
    std::vector<std::byte> all;
    for (const HeldState &state : describeStates(*compile({}), 0)) {
      const TensorToWrite &tensor = state.part.tensor;
      std::vector<std::byte> bytes(state.box().elements() * sizeOf(tensor.dtype));
      auto read = (state.parameter ? model : optimizer)
                      .read(tensor.name, tensor.dtype, tensor.shape, state.box(), bytes);
      EXPECT_TRUE(read) << read.error().message();
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }

  TrainedModel model;
  CompileOptions options;
  std::map<Layout, std::shared_ptr<const Executable>> executables;
};

std::string testName(const ::testing::TestParamInfo<std::tuple<std::string, DType>> &info) {
  std::string name = std::get<0>(info.param);
  std::ranges::replace(name, '-', '_');
  return name + (std::get<1>(info.param) == DType::F32 ? "_f32" : "_bf16");
}

std::vector<double> numbersOf(const std::vector<StepRecord> &records) {
  std::vector<double> numbers;
  for (const StepRecord &record : records)
    numbers.insert(numbers.end(), {record.loss, record.gradNorm});
  return numbers;
}

class TrainingOnRanks : public ::testing::TestWithParam<std::tuple<std::string, DType>> {
protected:
  /// Trains in each layout; all end with the bits of one rank.
  void compareLayouts(std::initializer_list<Layout> layouts) {
    TemporaryDirectory directory;
    std::vector<double> expected = numbersOf(run.train({}, directory.path / "one"));
    std::vector<std::byte> states = run.statesIn(directory.path / "one");
    ASSERT_EQ(expected.size(), 2 * kSteps);
    for (const Layout &layout : layouts) {
      SCOPED_TRACE(describe(layout));
      fs::path own = directory.path / describe(layout);
      EXPECT_EQ(numbersOf(run.train(layout, own)), expected);
      EXPECT_TRUE(run.statesIn(own) == states);
    }
  }

  /// Goes on in another layout up to each of some steps; so does the run of one rank.
  void compareTurns(std::initializer_list<std::pair<Layout, uint64_t>> layouts) {
    TemporaryDirectory directory;
    fs::path one = directory.path / "one", turns = directory.path / "turns";
    std::vector<double> expected = numbersOf(run.train({}, one)), numbers;
    for (const auto &[layout, steps] : layouts) {
      std::vector<double> some = numbersOf(run.train(layout, turns, steps));
      numbers.insert(numbers.end(), some.begin(), some.end());
    }
    EXPECT_EQ(numbers, expected);
    EXPECT_TRUE(run.statesIn(turns) == run.statesIn(one));
  }

  explicit TrainingOnRanks(int64_t layers = 0)
      : run(std::get<0>(GetParam()), std::get<1>(GetParam()), layers) {}

  SharedRun run;
};

TEST_P(TrainingOnRanks, SameBitsInEveryLayout) {
  compareLayouts({{"data=2"},
                  {"data=4"},
                  {"data=8"},
                  {"data=2", 1},
                  {"data=8", 1},
                  {"data=4", 2},
                  {"data=4", 3},
                  {"tensor=2"},
                  {"tensor=3"},
                  {"tensor=4"},
                  {"data=2,tensor=2", 1},
                  {"data=4,tensor=2", 3},
                  {"pipeline=2"},
                  {"data=2,tensor=2,pipeline=2", 1}});
}

TEST_P(TrainingOnRanks, SameBitsWhenTheyGoOnInOtherLayouts) {
  compareTurns({{{"data=4", 1}, 1},
                {{}, 2},
                {{"pipeline=2"}, 3},
                {{"data=2,tensor=2", 3}, 4},
                {{"data=2,pipeline=2", 3}, 5},
                {{"tensor=2"}, 6}});
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingOnRanks,
                         ::testing::Combine(::testing::Values("gpt2", "llama", "gemma2"),
                                            ::testing::Values(DType::F32, DType::BF16)),
                         testName);
INSTANTIATE_TEST_SUITE_P(WideModels, TrainingOnRanks,
                         ::testing::Values(std::tuple("wide-llama", DType::F32)), testName);

/// Models of as many layers as there are stages.
class TrainingInStages : public TrainingOnRanks {
protected:
  TrainingInStages() : TrainingOnRanks(/*layers=*/4) {}
};

TEST_P(TrainingInStages, SameBitsInEverySchedule) {
  compareLayouts({{"pipeline=4", 0, "gpipe"},
                  {"pipeline=4", 0, "1f1b"},
                  {"data=2,pipeline=4", 2, "zero-bubble"},
                  {"data=2,tensor=2,pipeline=2", 3, "interleaved"}});
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingInStages,
                         ::testing::Values(std::tuple("gpt2", DType::BF16),
                                           std::tuple("llama", DType::F32),
                                           std::tuple("gemma2", DType::F32)),
                         testName);

//===----------------------------------------------------------------------===//
// The tree, on one rank
//===----------------------------------------------------------------------===//

/// A step of so many microbatches, by its programs.
class StepByHand {
public:
  StepByHand(const TrainedModel &model, CompileOptions options, uint64_t microbatches)
      : microbatches(microbatches) {
    options.batch = 1;
    options.training.optimizer = "sgd";
    options.training.accumulate = static_cast<int64_t>(microbatches);
    TrainOptions run = model.trainOptions(/*threads=*/1, kRate);
    run.accumulate = microbatches;
    trainer = valueOf(Trainer::create(model.compile(options), {model.tokens(), std::nullopt}, run));
    StepPlan plan = valueOf(
        StepPlan::make(session().executable(), /*rank=*/0, microbatches, /*validation=*/false));
    programs = valueOf(TrainPrograms::find(session(), plan, /*rank=*/0));
    BatchOptions batch;
    batch.sequence = TrainedModel::kSequence;
    batch.order = DataOrder::Sequential;
    reader.emplace(model.tokens(), batch);
  }

  Session &session() { return trainer->session(); }

  /// Adds the gradient of microbatch `index` of a step of `count`.
  void accumulate(uint64_t index, uint64_t count) {
    Microbatch batch;
    reader->read(index, batch);
    StepScalars scalars;
    scalars.lossWeight = 1 / double(count * TrainedModel::kSequence);
    scalars.learningRate = kRate;
    const TrainProgram &program = programs.tasks.front().program; // of all microbatches
    program.set(batch);
    program.set(scalars);
    EXPECT_TRUE(session().run(program.handle()));
  }

  /// The gradients of all parameters, one after the other.
  std::vector<float> takeGradients() {
    std::vector<float> all;
    for (const fb::CheckpointTensor *tensor : *session().executable().root().checkpoint()) {
      TensorView state = valueOf(session().state("gradient." + tensor->name()->str()));
      std::span<float> numbers = state.as<float>();
      all.insert(all.end(), numbers.begin(), numbers.end());
      std::ranges::fill(numbers, 0.0f);
    }
    return all;
  }

  static constexpr double kRate = 0.05;
  uint64_t microbatches;
  std::unique_ptr<Trainer> trainer;
  TrainPrograms programs;
  std::optional<BatchReader> reader;
};

TEST(GradientsOfAStep, AreAddedAlongTheTree) {
  for (auto [name, counts] : {std::pair("gpt2", std::vector<uint64_t>{2, 3, 4, 5, 6, 7, 8, 9}),
                              std::pair("gemma2", std::vector<uint64_t>{5, 9})}) {
    TrainedModel model(name);
    // Of two microbatches there is one buffer, which one of them has for itself.
    StepByHand single(model, model.options(), 2);
    for (uint64_t count : counts) {
      StepByHand step(model, model.options(), count);
      std::vector<std::vector<float>> gradients;
      for (uint64_t i = 0; i < count; ++i) {
        single.accumulate(i, count);
        gradients.push_back(single.takeGradients());
        step.accumulate(i, count);
        for (size_t carry : step.programs.tasks[i].carries)
          EXPECT_TRUE(step.session().run(carry));
      }
      EXPECT_TRUE(step.takeGradients() ==
                  (runtime::testing::sumOfTree<std::vector<float>>(gradients, /*leaves=*/8)))
          << name << ", " << count;
    }
  }
}

TEST(GradientsOfAStep, MayBeAddedOneAfterTheOther) {
  TrainedModel model("gpt2");
  CompileOptions options = model.options();
  options.training.leaves = 1;
  StepByHand step(model, options, 5);
  EXPECT_TRUE(step.programs.tasks.back().carries.empty());
  EXPECT_FALSE(step.session().state("gradient0.wte.weight"));
}

} // namespace
