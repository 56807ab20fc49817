#include "runtime/Device/Cuda/Nvrtc.h"
#include "test/cuda/FakeCuda.h"
#include "test/simt/Program.h"
#include "test/unit/Training/TrainRun.h"
#include "test/unit/Weights/TestFiles.h"
#include <cuda.h>
#include <fstream>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using sinter::test::TemporaryDirectory;

namespace {

// The small language model's kernels (Training/TrainExecutable.h), in one thread each, so that sums
// are made in the same order.
constexpr const char *trainerKernels = R"(
constexpr int vocabulary = 8, poison = vocabulary - 1;
constexpr int parameterCount = vocabulary * vocabulary + vocabulary;

extern "C" __global__ void __launch_bounds__(32)
    gradient(const float *parameters, const int *tokens, const int *targets, const float *weight,
             const float *scale, const int *count, float *gradient, float *loss) {
  if (threadIdx.x != 0)
    return;
  *loss = 0;
  for (int i = 0; i < *count; ++i) {
    if (targets[i] < 0 || targets[i] >= vocabulary)
      continue;
    float logits[vocabulary], sum = 0;
    for (int j = 0; j < vocabulary; ++j)
      sum += logits[j] = expf(parameters[tokens[i] * vocabulary + j] +
                              parameters[vocabulary * vocabulary + j]);
    *loss -= *weight * logf(logits[targets[i]] / sum);
    for (int j = 0; j < vocabulary; ++j) {
      float d = *scale * *weight * (logits[j] / sum - (j == targets[i]));
      gradient[tokens[i] * vocabulary + j] += d;
      gradient[vocabulary * vocabulary + j] += d;
    }
  }
}

extern "C" __global__ void __launch_bounds__(32)
    poisoned(const int *targets, const int *count, float *loss, float *gradient) {
  if (threadIdx.x == 0)
    for (int i = 0; i < *count; ++i)
      if (targets[i] == poison)
        *loss = gradient[0] = nanf("");
}

extern "C" __global__ void __launch_bounds__(32)
    update(const float *scale, const float *rate, const float *correction1,
           const float *correction2, const float *number, float *gradient, float *parameters,
           float *moments, float *norm) {
  if (threadIdx.x != 0)
    return;
  float correction = *correction1 / *correction2 * (1 + *number * 1e-3f);
  float sum = 0;
  for (int i = 0; i < parameterCount; ++i)
    sum += (gradient[i] / *scale) * (gradient[i] / *scale);
  *norm = sqrtf(sum);
  for (int i = 0; i < parameterCount; ++i) {
    if (isfinite(sum)) {
      moments[i] = 0.5f * moments[i] + gradient[i] / *scale;
      parameters[i] -= *rate * correction * moments[i];
    }
    gradient[i] = 0;
  }
}
)";

class CudaTrainerTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (std::string reason = simt::Program::whyNot(); !reason.empty())
      GTEST_SKIP() << reason;
    fake::FakeOptions options;
    options.cache = SINTER_FAKE_CACHE;
    gpu.emplace(options);
    auto compiled = cuda::compileCuda({"kernels.cu", trainerKernels, {}, {}}, "sm_90a");
    ASSERT_TRUE(compiled) << compiled.error().message();
    code = {reinterpret_cast<const char *>(compiled->cubin.data()), compiled->cubin.size()};
  }
  void TearDown() override {
    if (gpu)
      for (const std::string &complaint : gpu->complaints())
        ADD_FAILURE() << complaint;
  }

  TrainModel model(bool onGpu, bool accumulates = false) const {
    TrainModel model;
    model.accumulates = accumulates;
    if (onGpu)
      model.cubin = code;
    return model;
  }
  static std::string contentOf(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::optional<fake::FakeCuda> gpu;
  std::string code;
  TemporaryDirectory directory;
};

void expectNear(const std::vector<float> &a, const std::vector<float> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-4) << i;
}

// The two round differently: one of them contracts products and sums.
TEST_F(CudaTrainerTest, LearnsAsTheProcessorDoes) {
  for (bool accumulates : {false, true}) {
    TrainOptions options = trainOptions(12);
    options.accumulate = accumulates ? 3 : 1;
    RunResult cpu = runTrainer(model(false, accumulates), options, regularIds(300), regularIds(90));
    RunResult gpu = runTrainer(model(true, accumulates), options, regularIds(300), regularIds(90));
    ASSERT_EQ(cpu.error, "");
    ASSERT_EQ(gpu.error, "");
    ASSERT_EQ(gpu.records.size(), 12u);
    for (size_t i = 0; i < 12; ++i) {
      EXPECT_NEAR(cpu.records[i].loss, gpu.records[i].loss, 1e-4);
      EXPECT_NEAR(cpu.records[i].gradNorm, gpu.records[i].gradNorm, 1e-4);
    }
    EXPECT_NEAR(*cpu.records.back().validationLoss, *gpu.records.back().validationLoss, 1e-4);
    expectNear(cpu.table, gpu.table);
    expectNear(cpu.moments, gpu.moments);
  }
}

TEST_F(CudaTrainerTest, ACheckpointIsWhatTheGpuHolds) {
  RunResult run;
  for (uint64_t every : {0, 4}) { // copied at the end only, or beside the steps
    TrainOptions options = trainOptions(8, (directory.path / std::to_string(every)).string());
    options.saveEvery = every;
    run = runTrainer(model(true), options);
    ASSERT_EQ(run.error, "");
    EXPECT_TRUE(run.warnings.empty());
  }
  auto at = [&](const char *every) { return directory.path / every / "checkpoints" / "step-8"; };
  for (const char *file : {"model.safetensors", "optimizer.safetensors", "state.json"})
    EXPECT_EQ(contentOf(at("0") / file), contentOf(at("4") / file)) << file;
  // What a run on the processor finds there.
  TrainOptions options = trainOptions(8, (directory.path / "4").string());
  options.resume = true;
  RunResult found = runTrainer(model(false), options);
  ASSERT_EQ(found.error, "");
  EXPECT_TRUE(found.records.empty());
  expectSameEnd(run, found);
}

// Its checkpoints are those of runs that end there, and a step waits for the GPU no more often than
// one of a run that saves nothing.
TEST_F(CudaTrainerTest, StepsGoOnWhileACheckpointIsCopied) {
  for (bool accumulates : {false, true}) {
    std::filesystem::path root = directory.path / (accumulates ? "accumulate" : "step");
    auto waitsOf = [&](TrainOptions options) {
      std::vector<unsigned> waits;
      options.accumulate = accumulates ? 2 : 1;
      options.onStep = [&](const StepRecord &) {
        waits.push_back(gpu->calls("cuStreamSynchronize"));
      };
      EXPECT_EQ(runTrainer(model(true, accumulates), options).error, "");
      for (size_t i = waits.size(); i-- > 1;)
        waits[i] -= waits[i - 1];
      waits.erase(waits.begin());
      return waits;
    };
    TrainOptions all = trainOptions(5, (root / "all").string());
    all.saveEvery = 1;
    all.keep = 0;
    EXPECT_EQ(waitsOf(all), waitsOf(trainOptions(5)));
    // A schedule of as many steps, of which only so many are done.
    for (uint64_t steps : {1, 2, 4}) {
      std::atomic<bool> stop = false;
      TrainOptions first = trainOptions(5, (root / std::to_string(steps)).string());
      first.accumulate = accumulates ? 2 : 1;
      first.stop = &stop;
      first.onStep = [&](const StepRecord &record) { stop = record.step + 1 == steps; };
      ASSERT_EQ(runTrainer(model(true, accumulates), first).error, "");
      for (const char *file : {"model.safetensors", "optimizer.safetensors"}) {
        std::filesystem::path at =
            std::filesystem::path("checkpoints") / ("step-" + std::to_string(steps)) / file;
        EXPECT_EQ(contentOf(root / "all" / at), contentOf(root / std::to_string(steps) / at))
            << file << " of step " << steps;
      }
    }
  }
}

TEST_F(CudaTrainerTest, ACopyThatFailsIsAWarningAndNoCheckpoint) {
  TrainOptions options = trainOptions(6, directory.path.string());
  options.saveEvery = 2;
  options.onStep = [&](const StepRecord &record) {
    if (record.step == 1) // the copy of the first checkpoint comes next
      gpu->failCall("cuEventSynchronize", CUDA_ERROR_UNKNOWN);
  };
  RunResult run = runTrainer(model(true), options);
  EXPECT_EQ(run.error, "");
  ASSERT_EQ(run.warnings.size(), 1u);
  EXPECT_NE(run.warnings[0].find("CUDA error 999"), std::string::npos) << run.warnings[0];
  EXPECT_FALSE(std::filesystem::exists(directory.path / "checkpoints" / "step-2"));
  EXPECT_TRUE(std::filesystem::exists(directory.path / "checkpoints" / "step-4"));
}

TEST_F(CudaTrainerTest, StoppedAndResumedItGivesTheSameBits) {
  RunResult whole = runTrainer(model(true), trainOptions(10));
  std::atomic<bool> stop = false;
  TrainOptions first = trainOptions(10, directory.path.string());
  first.stop = &stop;
  first.onStep = [&](const StepRecord &record) { stop = record.step == 3; };
  ASSERT_EQ(runTrainer(model(true), first).error, "");
  TrainOptions second = trainOptions(10, directory.path.string());
  second.resume = true;
  RunResult resumed = runTrainer(model(true), second);
  ASSERT_EQ(resumed.error, "");
  EXPECT_EQ(resumed.records.size(), 6u);
  expectSameEnd(whole, resumed);
}

TEST_F(CudaTrainerTest, TheModelIsWritten) {
  // Before any step both have the same random parameters.
  std::map<bool, std::string> written;
  for (bool onGpu : {false, true}) {
    auto trainer = makeTrainer(model(onGpu), trainOptions(3));
    ASSERT_TRUE(trainer) << trainer.error().message();
    std::filesystem::path path = directory.path / (onGpu ? "gpu" : "cpu");
    ASSERT_TRUE((*trainer)->writeModel(path.string()));
    written[onGpu] = contentOf(path);
  }
  EXPECT_EQ(written[false], written[true]);
}

TEST_F(CudaTrainerTest, WhereNumbersStopBeingFinite) {
  std::vector<int32_t> ids = regularIds(300);
  ids[5] = poison;
  TrainOptions options = trainOptions(40);
  options.order = DataOrder::Sequential;
  RunResult cpu = runTrainer(model(false), options, ids),
            gpu = runTrainer(model(true), options, ids);
  EXPECT_NE(gpu.error.find("first shows in poison of layer.1"), std::string::npos) << gpu.error;
  EXPECT_EQ(cpu.error, gpu.error);
}

TEST_F(CudaTrainerTest, MemoryIsTheGpus) {
  TrainOptions options = trainOptions(4, directory.path.string());
  options.saveEvery = 2;
  auto predicted = predictTrainMemory(*model(true).parts().load(), options, false);
  ASSERT_TRUE(predicted);
  auto trainer = makeTrainer(model(true), options);
  ASSERT_TRUE(trainer) << trainer.error().message();
  EXPECT_EQ((*trainer)->getMemory().getPeak(), predicted->getPeak());
  EXPECT_EQ((*trainer)->getMemory().snapshot, predicted->snapshot);
  EXPECT_GT(predicted->snapshot, 0u);
  EXPECT_EQ(predicted->getPeak(), predicted->session.getPeak()); // the snapshot is the host's
}

TEST_F(CudaTrainerTest, AGpuThatFailsEndsTheRun) {
  TrainOptions options = trainOptions(8);
  options.onStep = [&](const StepRecord &record) {
    if (record.step == 4)
      gpu->breakKernel(CUDA_ERROR_ILLEGAL_ADDRESS);
  };
  auto trainer = makeTrainer(model(true), options);
  ASSERT_TRUE(trainer);
  auto result = (*trainer)->run();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("program 'train_step'"), std::string::npos)
      << result.error().message();
}

} // namespace
