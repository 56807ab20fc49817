// Kept models that several GPUs run together, which are not there (FakeCuda.h): ranks are threads,
// kernels run in the emulator, and NCCL copies. What the same kernels compute has the bits of one
// GPU.

#include "runtime/Format/Actions.h"
#include "test/e2e/FakeGpuModels.h"
#include "test/e2e/SharedRun.h"
#include "test/support/Environment.h"
#include "test/unit/Weights/TestFiles.h"
#include <cmath>
#include <set>

using namespace sinter;
using namespace sinter::test;

namespace {
constexpr size_t kGpus = 4;
// The first run of each program waits for every command, later ones are graphs with collectives.
constexpr uint64_t kSteps = 3;
constexpr char kTarget[] = "cuda:sm_90";

class CudaRanks : public FakeGpuModels {
protected:
  CudaRanks() : FakeGpuModels(/*checked=*/false, kGpus) { fake.setStreamSeed(7); }

  void expectSameBits(SharedRun &run, std::initializer_list<Layout> layouts) {
    TemporaryDirectory directory;
    std::vector<double> expected = numbersOf(run.train({}, directory.path / "one", kSteps));
    std::vector<std::byte> states = run.statesIn(directory.path / "one", kSteps);
    ASSERT_EQ(expected.size(), 2 * kSteps);
    EXPECT_EQ(fake.statistics().collectives, 0u);
    for (const Layout &layout : layouts) {
      SCOPED_TRACE(describe(layout));
      unsigned before = fake.statistics().collectives;
      std::filesystem::path own = directory.path / describe(layout);
      EXPECT_EQ(numbersOf(run.train(layout, own, kSteps)), expected);
      EXPECT_TRUE(run.statesIn(own, kSteps) == states);
      EXPECT_GT(fake.statistics().collectives, before);
    }
  }
};

// A microbatch is computed by the kernels of one GPU.
TEST_P(CudaRanks, TrainOnPartsOfTheData) {
  SharedRun run(GetParam(), DType::F32, /*microbatches=*/2, kTarget);
  expectSameBits(run, {{"data=2"}, {"data=2", 1}});
}

// The last of a rank's microbatches carries what is left, and clears what the others added.
TEST_P(CudaRanks, TrainOnPartsOfTheDataInMicrobatches) {
  SharedRun run(GetParam(), DType::F32, /*microbatches=*/8, kTarget);
  expectSameBits(run, {{"data=2"}, {"data=2", 1}});
}

// Where gradients are exchanged other ops are fused, and a product with what is fused to it may be
// another kernel than without: so nothing is.
TEST_P(CudaRanks, TrainOnPartsOfTheParameters) {
  SharedRun run(GetParam(), DType::F32, /*microbatches=*/2, kTarget);
  run.options.disabledPasses = {"sinter-form-fusions"};
  expectSameBits(run, {{"data=2", 3}});
}

// Products of 12 columns are kernels, of 24 the library's, which adds in another order.
TEST_P(CudaRanks, TrainOnPartsOfProducts) {
  TemporaryDirectory directory;
  SharedRun run(GetParam(), DType::F32, /*microbatches=*/2, kTarget);
  std::vector<double> one = numbersOf(run.train({}, directory.path / "one", kSteps));
  std::vector<double> two = numbersOf(run.train({"tensor=2"}, directory.path / "two", kSteps));
  ASSERT_EQ(two.size(), 2 * kSteps);
  EXPECT_LE(worstDifference(two, one), 1e-6);
  EXPECT_GT(fake.statistics().collectives, 0u);
}

// In whatever order streams go on, NCCL begins the collectives of both axes in one order, or each
// waits for the one before: the bits are those of one stream.
TEST_P(CudaRanks, TrainWithAStreamForEachAxis) {
  Layout layout{"data=2,tensor=2", 3};
  TemporaryDirectory directory;
  SharedRun run(GetParam(), DType::F32, /*microbatches=*/2, kTarget);
  run.options.disabledPasses = {"sinter-assign-streams"};
  std::vector<double> expected = numbersOf(run.train(layout, directory.path / "one", kSteps));
  std::vector<std::byte> states = run.statesIn(directory.path / "one", kSteps);
  ASSERT_EQ(expected.size(), 2 * kSteps);
  for (const char *ordered : {"1", "0"}) {
    SCOPED_TRACE(ordered);
    Variable order("NCCL_LAUNCH_ORDER_IMPLICIT", ordered);
    SharedRun several(GetParam(), DType::F32, /*microbatches=*/2, kTarget);
    several.options.addedPasses = {"after:Memory:sinter-assign-streams{always}",
                                   "after:Memory:sinter-verify-memory"};
    auto executable = several.compile(layout);
    std::set<uint32_t> streams; // of collectives
    for (const fb::Program *program : *executable->getRoot().programs())
      for (const fb::Command *command : *program->commands())
        if (runtime::communicates(*command) && program->name()->str() == "accumulate")
          streams.insert(command->stream());
    EXPECT_GE(streams.size(), 2u);
    std::filesystem::path own = directory.path / ordered;
    EXPECT_EQ(numbersOf(several.train(layout, own, kSteps)), expected);
    EXPECT_TRUE(several.statesIn(own, kSteps) == states);
  }
}

// As the layers of a model are: a stage has the kernels of one GPU.
TEST_P(CudaRanks, TrainInStages) {
  SharedRun run(GetParam(), DType::F32, /*microbatches=*/3, kTarget);
  expectSameBits(run, {{"pipeline=2"}, {"pipeline=2", 0, "gpipe"}});
}

TEST_P(CudaRanks, TrainInStagesOnPartsOfTheData) {
  SharedRun run(GetParam(), DType::F32, /*microbatches=*/4, kTarget);
  expectSameBits(run, {{"data=2,pipeline=2", 1}});
}

TEST_P(CudaRanks, TrainInManyStages) {
  SharedRun run(GetParam(), DType::F32, /*microbatches=*/4, kTarget, OtherSizes{.layers = 4});
  expectSameBits(run, {{"pipeline=4"}, {"pipeline=2", 0, "interleaved"}});
}

// What is put off is not fused with what is not.
TEST_P(CudaRanks, TrainInStagesThatPutOffWeights) {
  SharedRun run(GetParam(), DType::F32, /*microbatches=*/2, kTarget);
  run.options.disabledPasses = {"sinter-form-fusions"};
  expectSameBits(run, {{"pipeline=2", 0, "zero-bubble"}});
}

INSTANTIATE_TEST_SUITE_P(Models, CudaRanks, testing::Values("gpt2"), nameModelTest);

class CudaRanksLogits : public CudaRanks {
protected:
  std::vector<float> computeLogits(const std::string &grid, runtime::Communicator *communicator) {
    CompiledModel model(GetParam());
    if (format)
      model.useIntegers(*format, format->scaleType);
    model.communicator = communicator;
    model.shared = &shared;
    CompileOptions options;
    options.target = kTarget;
    options.grid = grid;
    options.entries = {"prefill", "decode"};
    options.batch = 2;
    options.chunk = 7;
    options.maxSequence = 0;
    options.computeType = options.cacheType = DType::F32;
    model.compileForLogits(options);
    std::vector<float> logits;
    model.runRagged([&](std::span<const float> row, int64_t) {
      logits.insert(logits.end(), row.begin(), row.end());
    });
    return logits;
  }

  /// Of two ranks along tensor, but for `error` of the logits' size.
  void expectOne(double error) {
    std::vector<float> one = computeLogits("", nullptr);
    EXPECT_FALSE(one.empty());
    auto done = runtime::runThreadRanks(2, [&](runtime::Communicator &communicator) {
      std::vector<float> own = computeLogits("tensor=2", &communicator);
      EXPECT_EQ(own.size(), one.size());
      double difference = 0, norm = 0;
      for (size_t i = 0; i < own.size(); ++i) {
        difference += std::pow(double(own[i]) - one[i], 2);
        norm += std::pow(one[i], 2);
      }
      EXPECT_LE(std::sqrt(difference / norm), error) << "rank " << communicator.getRank();
      return Expected<void>();
    });
    EXPECT_TRUE(done) << done.error().message();
    EXPECT_GT(fake.statistics().collectives, 0u);
  }

  std::optional<IntegerFormat> format; ///< of all matrices; none: numbers
  SharedExecutables shared;
};

// But for the order of sums, as above.
TEST_P(CudaRanksLogits, AreThoseOfOne) { expectOne(1e-6); }

// Weights, scales, minima and tables that are integers are split as numbers are.
TEST_P(CudaRanksLogits, OfIntegersAreThoseOfOne) {
  for (IntegerFormat stored : {IntegerFormat{DType::I4, 4, DType::F16, true},
                               {DType::I8, 4, DType::BF16},
                               {DType::E4M3, 4, DType::F32}}) {
    format = stored;
    expectOne(1e-6);
  }
}

TEST_P(CudaRanksLogits, InStagesHaveTheBitsOfOne) {
  std::vector<float> one = computeLogits("", nullptr);
  EXPECT_FALSE(one.empty());
  auto done = runtime::runThreadRanks(2, [&](runtime::Communicator &communicator) {
    EXPECT_EQ(computeLogits("pipeline=2", &communicator), one);
    return Expected<void>();
  });
  EXPECT_TRUE(done) << done.error().message();
  EXPECT_GT(fake.statistics().collectives, 0u);
}

INSTANTIATE_TEST_SUITE_P(Models, CudaRanksLogits, testing::Values("llama"), nameModelTest);

} // namespace
