//===- TrainingOnRanksTest.cpp - Kept models that ranks train together ------===//
//
// Small models are compiled for grids of ranks, which are threads here, and trained: weights,
// optimizer states, losses and norms have the bits of one rank, however the ranks share them, and
// so have runs that are stopped and go on in other layouts. That the sum of the gradients is that
// of the tree is held by single gradients, added here.
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/TrainPrograms.h"
#include "test/e2e/SharedRun.h"
#include "test/unit/Training/Sums.h"
#include "test/unit/Weights/TestFiles.h"
#include "gtest/gtest.h"

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::test;
namespace fs = std::filesystem;

namespace {
constexpr uint64_t kSteps = SharedRun::kSteps;

std::string testName(const ::testing::TestParamInfo<std::tuple<std::string, DType>> &info) {
  std::string name = std::get<0>(info.param);
  std::ranges::replace(name, '-', '_');
  return name + (std::get<1>(info.param) == DType::F32 ? "_f32" : "_bf16");
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

  explicit TrainingOnRanks(std::optional<OtherSizes> sizes = {}, uint64_t microbatches = 8)
      : run(std::get<0>(GetParam()), std::get<1>(GetParam()), microbatches, /*target=*/"", sizes) {}

  SharedRun run;
};

TEST_P(TrainingOnRanks, SameBitsInEveryLayout) {
  compareLayouts({{"data=8", 1},
                  {"tensor=3"},
                  {"tensor=4"},
                  {"tensor=2x2"},
                  {"context=4"},
                  {"data=2,context=2", 2},
                  {"context=2,tensor=2"},
                  {"data=4,tensor=2", 3},
                  {"pipeline=2"}});
}

TEST_P(TrainingOnRanks, SameBitsWhenTheyGoOnInOtherLayouts) {
  compareTurns({{{"context=2"}, 1}, {{"data=2,pipeline=2", 3}, 2}, {{"tensor=2x2"}, 3}});
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingOnRanks,
                         ::testing::Values(std::tuple("gpt2", DType::BF16),
                                           std::tuple("llama", DType::F32),
                                           std::tuple("gemma2", DType::BF16)),
                         testName);

/// Matrices of several parts, one behind the other (Phi-3) and head by head (GPT-NeoX).
class TrainingOfFusedMatrices : public TrainingOnRanks {};

TEST_P(TrainingOfFusedMatrices, SameBits) {
  compareLayouts({{"tensor=4"}, {"data=2,tensor=2,pipeline=2", 3}});
}

TEST_P(TrainingOfFusedMatrices, SameBitsWhenTheyGoOnInOtherLayouts) {
  compareTurns({{{"tensor=2"}, 1}, {{}, 2}, {{"data=2,tensor=2", 1}, 3}});
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingOfFusedMatrices,
                         ::testing::Values(std::tuple("phi3", DType::F32),
                                           std::tuple("gpt_neox", DType::F32)),
                         testName);

/// Experts, of which a rank has some columns each: of matrices in tensors of their own, of one
/// tensor with gates above ups, and of one in which their columns take turns. The loss of routers
/// is a sum over all layers, whichever stages have them.
class TrainingOfExperts : public TrainingOnRanks {
protected:
  TrainingOfExperts() : TrainingOnRanks({}, /*microbatches=*/4) {
    run.options.training.routerLoss = 0.1;
  }
};

TEST_P(TrainingOfExperts, SameBits) {
  compareLayouts({{"tensor=3"},
                  {"tensor=2x2"},
                  {"context=2,tensor=2"},
                  {"data=2,tensor=2", 1},
                  {"tensor=2,pipeline=2"}});
}

TEST_P(TrainingOfExperts, SameBitsWhenTheyGoOnInOtherLayouts) {
  compareTurns({{{"tensor=2"}, 1}, {{"data=2,tensor=2", 3}, 2}, {{"tensor=4"}, 3}});
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingOfExperts,
                         ::testing::Values(std::tuple("mixtral", DType::F32),
                                           std::tuple("sinter-experts", DType::BF16),
                                           std::tuple("granitemoe", DType::F32),
                                           std::tuple("gpt_oss", DType::BF16)),
                         testName);

/// A step of one microbatch is one program, which keeps what an optimizer has as its matrix is.
class TrainingOfOneMicrobatch : public TrainingOnRanks {
protected:
  TrainingOfOneMicrobatch() : TrainingOnRanks({}, /*microbatches=*/1) {}
};

TEST_P(TrainingOfOneMicrobatch, SameBits) { compareLayouts({{"tensor=2"}, {"tensor=2x2"}}); }

INSTANTIATE_TEST_SUITE_P(Models, TrainingOfOneMicrobatch,
                         ::testing::Values(std::tuple("llama", DType::F32),
                                           std::tuple("mixtral", DType::F32)),
                         testName);

/// Layers of other kinds, whose norms are over heads, one or all of them, or behind the blocks; and
/// microbatches of several rows, which parts of several ranks do not hold at fixed distances.
class TrainingOfOtherLayers : public TrainingOnRanks {
protected:
  TrainingOfOtherLayers() : TrainingOnRanks({}, /*microbatches=*/2) { run.options.batch = 4; }
};

TEST_P(TrainingOfOtherLayers, SameBits) {
  compareLayouts({{"tensor=2,pipeline=2"}, {"data=2,context=2", 3}});
}

INSTANTIATE_TEST_SUITE_P(
    Models, TrainingOfOtherLayers,
    ::testing::Values(std::tuple("qwen3", DType::F32), std::tuple("olmo3", DType::F32),
                      std::tuple("gemma3", DType::BF16), std::tuple("cohere", DType::F32),
                      std::tuple("qwen3_5", DType::F32), std::tuple("qwen3_next", DType::BF16),
                      std::tuple("bamba", DType::F32), std::tuple("mamba2", DType::F32)),
    testName);

// What an optimizer computes of all of a matrix is not of its parts.
class OptimizersOfFusedMatrices : public ::testing::TestWithParam<std::string> {};

TEST_P(OptimizersOfFusedMatrices, SameBits) {
  TemporaryDirectory directory;
  constexpr uint64_t steps = 2;
  SharedRun run("gpt2", DType::F32, /*microbatches=*/4);
  run.options.training.optimizer = GetParam();
  std::vector<double> expected = numbersOf(run.train({}, directory.path / "one", steps));
  std::vector<double> numbers = numbersOf(run.train({"tensor=2"}, directory.path / "two", 1));
  std::vector<double> others = numbersOf(run.train({"tensor=3"}, directory.path / "two", steps));
  numbers.insert(numbers.end(), others.begin(), others.end());
  EXPECT_EQ(numbers, expected);
  EXPECT_TRUE(run.statesIn(directory.path / "two", steps) ==
              run.statesIn(directory.path / "one", steps));
  // Each rank of a stage updates what it gathers, once the last stage knows the scale of gradients.
  Layout stages{"data=2,pipeline=2", 2};
  EXPECT_EQ(numbersOf(run.train(stages, directory.path / "three", steps)), expected);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizersOfFusedMatrices,
                         ::testing::Values("muon", "adafactor"),
                         [](const auto &info) { return info.param; });

/// Sharing the data alone splits no op, whatever the model.
class TrainingOnRanksOfData : public TrainingOnRanks {};

TEST_P(TrainingOnRanksOfData, SameBits) {
  compareLayouts({{"data=2"}, {"data=4"}, {"data=8"}, {"data=2", 1}, {"data=4", 2}});
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingOnRanksOfData,
                         ::testing::Combine(::testing::Values("gpt2"),
                                            ::testing::Values(DType::F32, DType::BF16)),
                         testName);

/// What a type changes of a split shows in products of two axes.
class TrainingInManyAxes : public TrainingOnRanks {};

TEST_P(TrainingInManyAxes, SameBits) {
  compareLayouts({{"tensor=2x2x2"},
                  {"data=2,context=2,tensor=2", 1},
                  {"data=2,tensor=2x1x2", 3},
                  {"data=2,context=2,pipeline=2", 2},
                  {"data=2,tensor=2,pipeline=2", 1},
                  {"data=2,tensor=2,pipeline=2", 3},
                  {"context=2,tensor=2,pipeline=2"},
                  {"tensor=2x2,pipeline=2"},
                  {"data=2,context=2,tensor=2,pipeline=2", 3}});
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingInManyAxes,
                         ::testing::Values(std::tuple("gpt2", DType::F32),
                                           std::tuple("llama", DType::F32),
                                           std::tuple("gemma2", DType::BF16)),
                         testName);

/// Where tiles, their tails and threads matter: each way to split once.
class WideTrainingOnRanks : public TrainingOnRanks {};

TEST_P(WideTrainingOnRanks, SameBits) {
  compareLayouts({{"data=4", 3},
                  {"tensor=3"},
                  {"tensor=2x2"},
                  {"context=4"},
                  {"data=2,tensor=2,pipeline=2", 1}});
}

INSTANTIATE_TEST_SUITE_P(Models, WideTrainingOnRanks,
                         ::testing::Values(std::tuple("wide-llama", DType::F32)), testName);

/// Heads that a processor's instructions for matrices take whole, where it has some for the type.
class TrainingOfHeadsOf64 : public TrainingOnRanks {
protected:
  TrainingOfHeadsOf64() : TrainingOnRanks(OtherSizes{.keyHeads = 2}, /*microbatches=*/2) {
    run.options.batch = 4;
  }
};

TEST_P(TrainingOfHeadsOf64, SameBits) { compareLayouts({{"tensor=2"}, {"data=2,context=2", 3}}); }

INSTANTIATE_TEST_SUITE_P(Models, TrainingOfHeadsOf64,
                         ::testing::Combine(::testing::Values("llama-head-64"),
                                            ::testing::Values(DType::F32, DType::BF16)),
                         testName);

/// Models of as many layers as there are stages.
class TrainingInStages : public TrainingOnRanks {
protected:
  TrainingInStages() : TrainingOnRanks(OtherSizes{.layers = 4}) {}
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

/// Of which ranks have parts that are not alike: gradients so far lie otherwise than what is added.
class TrainingOfUnevenParts : public TrainingOnRanks {
protected:
  TrainingOfUnevenParts() : TrainingOnRanks(OtherSizes{.layers = 4, .mlp = 45}) {}
};

TEST_P(TrainingOfUnevenParts, SameBitsInEverySchedule) {
  compareLayouts({{"tensor=2,pipeline=2", 0, "1f1b"}, {"tensor=2,pipeline=2", 0, "zero-bubble"}});
}

INSTANTIATE_TEST_SUITE_P(Models, TrainingOfUnevenParts,
                         ::testing::Values(std::tuple("llama", DType::F32)), testName);

// A scale is of all of a tensor, whatever part of it a rank has. A history of scales is of all
// ranks and all microbatches, and goes on where a run was stopped.
class TrainingOnRanksInFp8 : public ::testing::TestWithParam<std::string> {};

TEST_P(TrainingOnRanksInFp8, SameBits) {
  TemporaryDirectory directory;
  constexpr uint64_t steps = 2;
  SharedRun run("gpt2", DType::F32, /*microbatches=*/4);
  run.options.training.fp8 = GetParam();
  // A stage of a pipeline has the histories of its own layers.
  Layout other = GetParam() == "history" ? Layout{"pipeline=2"} : Layout{"context=2"};
  std::vector<double> expected = numbersOf(run.train({}, directory.path / "one", steps));
  std::vector<std::byte> states = run.statesIn(directory.path / "one", steps);
  for (const Layout &layout : {Layout{"data=2,tensor=2", 3}, other}) {
    SCOPED_TRACE(describe(layout));
    fs::path own = directory.path / describe(layout);
    std::vector<double> numbers = numbersOf(run.train({}, own, 1));
    std::vector<double> others = numbersOf(run.train(layout, own, steps));
    numbers.insert(numbers.end(), others.begin(), others.end());
    EXPECT_EQ(numbers, expected);
    EXPECT_TRUE(run.statesIn(own, steps) == states);
  }
}

INSTANTIATE_TEST_SUITE_P(Scales, TrainingOnRanksInFp8, ::testing::Values("current", "history"),
                         [](const auto &info) { return info.param; });

// Whatever the cost model thinks of it: a thread moves bytes while others compute.
TEST(TrainingOnRanksBesideComputation, SameBits) {
  TemporaryDirectory directory;
  constexpr uint64_t steps = 2;
  SharedRun run("gpt2", DType::F32, /*microbatches=*/4);
  std::vector<double> expected = numbersOf(run.train({}, directory.path / "one", steps));
  std::vector<std::byte> states = run.statesIn(directory.path / "one", steps);
  run.options.addedPasses = {"after:Memory:sinter-assign-streams{always}",
                             "after:Memory:sinter-verify-memory"};
  for (const Layout &layout :
       std::initializer_list<Layout>{{"data=2", 3}, {"data=2,tensor=2", 2}}) {
    SCOPED_TRACE(describe(layout));
    size_t beside = 0;
    for (const fb::Program *program : *run.compile(layout)->getRoot().programs())
      for (const fb::Command *command : *program->commands())
        beside += command->stream() == 1;
    EXPECT_GT(beside, 0u);
    EXPECT_EQ(numbersOf(run.train(layout, directory.path / describe(layout), steps)), expected);
    EXPECT_TRUE(run.statesIn(directory.path / describe(layout), steps) == states);
  }
}

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
        StepPlan::make(session().getExecutable(), /*rank=*/0, microbatches, /*validation=*/false));
    programs = valueOf(TrainPrograms::find(session(), plan, /*rank=*/0));
    BatchOptions batch;
    batch.sequence = TrainedModel::kSequence;
    batch.order = DataOrder::Sequential;
    reader.emplace(model.tokens(), batch);
  }

  Session &session() { return trainer->getSession(); }

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
    EXPECT_TRUE(session().run(program.getHandle()));
  }

  /// The gradients of all parameters, one after the other.
  std::vector<float> takeGradients() {
    std::vector<float> all;
    for (const fb::CheckpointTensor *tensor : *session().getExecutable().getRoot().checkpoint()) {
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
