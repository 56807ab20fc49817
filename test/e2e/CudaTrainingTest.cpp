// The first steps of kept models, trained on a GPU that is not there (see CudaLogitsTest.cpp). In
// f32 losses agree with the reference's within 1e-4 and gradient norms within 1e-3, in bf16 losses
// within 2e-2; two runs give the same bits.

#include "frontends/Graph/ModelGraph.h"
#include "test/e2e/FakeGpuModels.h"
#include "test/e2e/TrainedModel.h"
#include "test/support/Environment.h"
#include <filesystem>
#include <unistd.h>

using namespace sinter;
using namespace sinter::test;

namespace {
constexpr uint64_t kSteps = 3;

class CudaTraining : public FakeGpuModels {
protected:
  explicit CudaTraining(bool checked = true) : FakeGpuModels(checked) {}

  static TrainedSteps train(const TrainedModel &model, CompileOptions options) {
    options.target = "cuda:sm_90";
    return model.train(model.compile(options), /*threads=*/1, /*learningRate=*/3e-4,
                       static_cast<uint64_t>(options.training.accumulate), kSteps);
  }
};

TEST_P(CudaTraining, InF32) {
  TrainedModel model(GetParam());
  TrainedSteps steps = train(model, model.options());
  EXPECT_LE(worstDifference(steps.losses, model.expected("loss")), 1e-4);
  EXPECT_LE(worstDifference(steps.norms, model.expected("grad_norm")), 1e-3);
  TrainedSteps again = train(model, model.options());
  EXPECT_EQ(steps.losses, again.losses);
  EXPECT_EQ(steps.parameters, again.parameters);
}

// The others, on models that differ in what they do.
class BriefCudaTraining : public CudaTraining {};
class NarrowCudaTraining : public CudaTraining {};

TEST_P(NarrowCudaTraining, InBf16) {
  TrainedModel model(GetParam());
  CompileOptions options = model.options();
  options.computeType = DType::BF16;
  EXPECT_LE(worstDifference(train(model, options).losses, model.expected("bf16_loss")), 2e-2);
}

// The words that second moments are rounded with are those of a processor.
TEST_P(BriefCudaTraining, StatesInBf16) {
  TrainedModel model(GetParam());
  CompileOptions options = model.options();
  options.training.stateType = "bf16";
  TrainedSteps steps = train(model, options), again = train(model, options);
  EXPECT_LE(worstDifference(steps.losses, model.expected("loss")), 1e-4);
  EXPECT_EQ(steps.parameters, again.parameters);
  TrainedSteps processor = model.train(model.compile(options), /*threads=*/1, /*learningRate=*/3e-4,
                                       /*accumulate=*/1, kSteps);
  EXPECT_LE(worstDifference(steps.losses, processor.losses), 1e-5);
}

// As products of large models are, whose rows begin anywhere.
TEST_P(BriefCudaTraining, Aligned) {
  TrainedModel model(GetParam());
  CompileOptions options = model.options();
  options.addedPasses = {"after:Autodiff:sinter-align-products{always}"};
  TrainedSteps steps = train(model, options);
  EXPECT_LE(worstDifference(steps.losses, model.expected("loss")), 1e-4);
  EXPECT_LE(worstDifference(steps.norms, model.expected("grad_norm")), 1e-3);
}

TEST_P(BriefCudaTraining, CheckpointsMove) {
  TrainedModel model(GetParam());
  CompileOptions options = model.options();
  auto cpu = model.compile(options);
  options.target = "cuda:sm_90";
  auto gpu = model.compile(options);
  std::filesystem::path directory = std::filesystem::temp_directory_path() /
                                    ("sinter-moves-" + std::to_string(getpid()) + GetParam());
  std::vector<double> losses = model.trainInTurns({cpu, gpu, cpu}, 2, directory);
  std::filesystem::remove_all(directory);
  ASSERT_EQ(losses.size(), 6u);
  EXPECT_LE(worstDifference(losses, model.expected("loss")), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Models, CudaTraining,
                         testing::Values("gpt2", "llama", "llama-head-64", "gemma2", "gpt_neox",
                                         "sinter-mixed", "olmo3"),
                         nameModelTest);
INSTANTIATE_TEST_SUITE_P(Models, NarrowCudaTraining,
                         testing::Values("gpt2", "llama-head-64", "gemma2", "sinter-mixed"),
                         nameModelTest);
INSTANTIATE_TEST_SUITE_P(Models, BriefCudaTraining, testing::Values("gpt2", "gemma2"),
                         nameModelTest);

// Experts' products, and the gradients of their matrices, whose kernels are looked at access by
// access in tests of their own.
class ExpertsCudaTraining : public CudaTraining {
protected:
  ExpertsCudaTraining() : CudaTraining(/*checked=*/false) {}
};

TEST_P(ExpertsCudaTraining, InF32) {
  TrainedModel model(GetParam());
  TrainedSteps steps = train(model, model.options()), again = train(model, model.options());
  EXPECT_LE(worstDifference(steps.losses, model.expected("loss")), 1e-4);
  EXPECT_LE(worstDifference(steps.norms, model.expected("grad_norm")), 1e-3);
  EXPECT_EQ(steps.losses, again.losses);
  EXPECT_EQ(steps.parameters, again.parameters);
}

INSTANTIATE_TEST_SUITE_P(Models, ExpertsCudaTraining, testing::Values("mixtral"), nameModelTest);

// Linear attention, as a processor trains it: its kernels are looked at access by access in tests
// of their own, too.
class LinearCudaTraining : public ExpertsCudaTraining {};

TEST_P(LinearCudaTraining, FollowsAProcessor) {
  TrainedModel model(GetParam());
  CompileOptions options = model.options();
  TrainedSteps steps = train(model, options), again = train(model, options);
  EXPECT_EQ(steps.losses, again.losses);
  EXPECT_EQ(steps.parameters, again.parameters);
  auto onProcessor = [&](const CompileOptions &options) {
    return model.train(model.compile(options), /*threads=*/1, /*learningRate=*/3e-4,
                       /*accumulate=*/1, kSteps);
  };
  TrainedSteps processor = onProcessor(options);
  EXPECT_LE(worstDifference(steps.losses, processor.losses), 1e-5);
  EXPECT_LE(worstDifference(steps.norms, processor.norms), 1e-4);
  options.computeType = DType::BF16;
  EXPECT_LE(worstDifference(train(model, options).losses, onProcessor(options).losses), 5e-3);
}

INSTANTIATE_TEST_SUITE_P(Models, LinearCudaTraining, testing::Values("qwen3_5"), nameModelTest);

// Where the device chooses: what it tried leaves no trace in parameters and moments, and what it
// remembers gives the same bits.
class TunedCudaTraining : public CudaTraining {};

TEST_P(TunedCudaTraining, InF32) {
  std::string pattern = testing::TempDir() + "sinter-tuning-XXXXXX";
  std::filesystem::path folder = mkdtemp(pattern.data());
  test::Variable cache("SINTER_CACHE_DIR", folder.string());
  TrainedModel model(GetParam());
  CompileOptions options = model.options();
  options.tune = true;
  TrainedSteps steps = train(model, options), again = train(model, options);
  EXPECT_FALSE(std::filesystem::is_empty(folder / "tuning"));
  EXPECT_LE(worstDifference(steps.losses, model.expected("loss")), 1e-4);
  EXPECT_LE(worstDifference(steps.norms, model.expected("grad_norm")), 1e-3);
  EXPECT_EQ(steps.parameters, again.parameters);
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Models, TunedCudaTraining, testing::Values("gpt2"), nameModelTest);

// Attention by cuDNN, which is faster here than kernels in the emulator are. The second run tries
// nothing any more: what it calls is what was chosen.
class LibraryCudaTraining : public CudaTraining {};

TEST_P(LibraryCudaTraining, InBf16) {
  std::string pattern = testing::TempDir() + "sinter-tuning-XXXXXX";
  std::filesystem::path folder = mkdtemp(pattern.data());
  test::Variable cache("SINTER_CACHE_DIR", folder.string());
  TrainedModel model(GetParam());
  CompileOptions options = model.options();
  options.computeType = DType::BF16;
  options.tune = true;
  TrainedSteps steps = train(model, options);
  EXPECT_LE(worstDifference(steps.losses, model.expected("bf16_loss")), 2e-2);
  unsigned tried = fake.statistics().attentions;
  EXPECT_EQ(train(model, options).losses, steps.losses);
  EXPECT_GT(fake.statistics().attentions, tried);
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Models, LibraryCudaTraining, testing::Values("llama"), nameModelTest);

// Products of fp8 by cuBLASLt and by templates are a processor's of widened bytes but for the order
// of sums, which may round a number of 8 bits to its neighbour.
class Fp8CudaTraining : public CudaTraining {};

TEST_P(Fp8CudaTraining, FollowsAProcessor) {
  TrainedModel model(GetParam());
  CompileOptions options = model.options();
  options.training.fp8 = "current";
  TrainedSteps steps = train(model, options), again = train(model, options);
  EXPECT_EQ(steps.parameters, again.parameters);
  TrainedSteps processor = model.train(model.compile(options), /*threads=*/1, /*learningRate=*/3e-4,
                                       /*accumulate=*/1, kSteps);
  double loss = worstDifference(steps.losses, processor.losses);
  RecordProperty("loss", std::to_string(loss * 1e6) + "e-6");
  EXPECT_LE(loss, 2e-3);
  // Rounding to fp8 leaves its trace.
  EXPECT_GE(worstDifference(steps.losses, model.expected("loss")), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Models, Fp8CudaTraining, testing::Values("llama"), nameModelTest);

// What a program leaves to the device is in the target's description: it is the same, and is found
// again, whether or not the libraries are there where it is compiled.
TEST(TunedProgram, AsksNoLibrary) {
  Expected<ModelSpec> spec = loadModelSpec(findModel("llama"));
  ASSERT_TRUE(spec) << spec.error().message();
  CompileRequest request;
  request.graph = makeModelGraph(*spec);
  request.options.target = "cuda:sm_90";
  request.options.entries = {"train_step"};
  request.options.batch = 2;
  request.options.chunk = request.options.maxSequence = 16;
  request.options.computeType = DType::BF16;
  request.options.tune = true;
  request.options.emit = "program";
  Expected<CompileResult> without = compile(request);
  ASSERT_TRUE(without) << without.error().message();
  std::string key = getCacheKey(request);
  EXPECT_NE(without->text.find("plan.attention"), std::string::npos);
  fake::FakeCuda fake{fake::FakeOptions{}};
  Expected<CompileResult> with = compile(request);
  ASSERT_TRUE(with) << with.error().message();
  EXPECT_EQ(with->text, without->text);
  EXPECT_EQ(getCacheKey(request), key);
}

// Sums for norms and biases and products for weights run beside the chain of gradients. In
// whatever order the streams go on, the bits are those of one stream.
class StreamsCudaTraining : public CudaTraining {};

TEST_P(StreamsCudaTraining, AreThoseOfOneStream) {
  TrainedModel model(GetParam());
  CompileOptions options = model.options();
  options.disabledPasses = {"sinter-assign-streams"};
  TrainedSteps one = train(model, options);
  unsigned waits = fake.calls("cuStreamWaitEvent");
  options.disabledPasses = {};
  for (unsigned seed : {1u, 2u}) {
    fake.setStreamSeed(seed);
    TrainedSteps several = train(model, options);
    EXPECT_EQ(several.losses, one.losses) << seed;
    EXPECT_EQ(several.norms, one.norms) << seed;
    EXPECT_EQ(several.parameters, one.parameters) << seed;
  }
  EXPECT_GT(fake.calls("cuStreamWaitEvent"), waits);
}

INSTANTIATE_TEST_SUITE_P(Models, StreamsCudaTraining, testing::Values("gpt2", "gpt_neox"),
                         nameModelTest);

} // namespace
