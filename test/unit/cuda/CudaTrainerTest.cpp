#include "test/unit/Training/TrainRun.h"
#include "test/unit/Weights/TestFiles.h"
#include "test/unit/cuda/TestDriver.h"
#include <fstream>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using cuda::testing::LaunchArguments;
using cuda::testing::TestDriver;
using sinter::test::TemporaryDirectory;

namespace {

// The small language model's kernels stand on the GPU, too.
class CudaTrainerTest : public ::testing::Test {
protected:
  CudaTrainerTest() {
    const std::map<std::string, size_t> pointers = {
        {"gradient", 8}, {"poisoned", 4}, {"update", 9}};
    for (const auto &[name, kernel] : TrainModel::kernels())
      driver.addKernel(name, pointers.at(name),
                       [function = kernel](const LaunchArguments &arguments) {
                         function(arguments.pointers.data(), 0, arguments.grid);
                       });
  }
  static TrainModel model(bool onGpu, bool accumulates = false) {
    TrainModel model;
    model.accumulates = accumulates;
    model.onGpu = onGpu;
    return model;
  }
  static std::string contentOf(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TestDriver driver;
  TemporaryDirectory directory;
};

TEST_F(CudaTrainerTest, LearnsTheProcessorsBits) {
  for (bool accumulates : {false, true}) {
    TrainOptions options = trainOptions(12);
    options.accumulate = accumulates ? 3 : 1;
    RunResult cpu = runTrainer(model(false, accumulates), options, regularIds(300), regularIds(90));
    RunResult gpu = runTrainer(model(true, accumulates), options, regularIds(300), regularIds(90));
    ASSERT_EQ(cpu.error, "");
    ASSERT_EQ(gpu.error, "");
    EXPECT_EQ(cpu.losses(), gpu.losses());
    EXPECT_EQ(cpu.records.back().validationLoss, gpu.records.back().validationLoss);
    expectSameEnd(cpu, gpu);
  }
}

TEST_F(CudaTrainerTest, CheckpointsAreTheProcessors) {
  for (uint64_t every : {0, 4}) { // copied at the end only, or beside the steps
    std::map<bool, std::filesystem::path> checkpoints;
    for (bool onGpu : {false, true}) {
      std::string name = (onGpu ? "gpu" : "cpu") + std::to_string(every);
      TrainOptions options = trainOptions(8, (directory.path / name).string());
      options.saveEvery = every;
      RunResult run = runTrainer(model(onGpu), options);
      ASSERT_EQ(run.error, "");
      EXPECT_TRUE(run.warnings.empty());
      checkpoints[onGpu] = directory.path / name / "checkpoints" / "step-8";
    }
    for (const char *file : {"model.safetensors", "optimizer.safetensors", "state.json"})
      EXPECT_EQ(contentOf(checkpoints[false] / file), contentOf(checkpoints[true] / file)) << file;
  }
}

TEST_F(CudaTrainerTest, GoesOnFromACheckpointOfTheProcessor) {
  RunResult whole = runTrainer(model(false), trainOptions(10));
  std::atomic<bool> stop = false;
  TrainOptions first = trainOptions(10, directory.path.string());
  first.stop = &stop;
  first.onStep = [&](const StepRecord &record) { stop = record.step == 3; };
  ASSERT_EQ(runTrainer(model(false), first).error, "");
  TrainOptions second = trainOptions(10, directory.path.string());
  second.resume = true;
  RunResult resumed = runTrainer(model(true), second);
  ASSERT_EQ(resumed.error, "");
  EXPECT_EQ(resumed.records.size(), 6u);
  expectSameEnd(whole, resumed);
}

TEST_F(CudaTrainerTest, TheModelIsWritten) {
  std::map<bool, std::string> written;
  for (bool onGpu : {false, true}) {
    auto trainer = makeTrainer(model(onGpu), trainOptions(3));
    ASSERT_TRUE(trainer) << trainer.error().message();
    ASSERT_TRUE((*trainer)->run());
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
  auto predicted = predictTrainMemory(
      [&] {
        Parts parts = model(true).parts();
        moveToGpu(parts);
        return *parts.load();
      }(),
      options, false);
  ASSERT_TRUE(predicted);
  auto trainer = makeTrainer(model(true), options);
  ASSERT_TRUE(trainer) << trainer.error().message();
  EXPECT_EQ((*trainer)->memory().peak(), predicted->peak());
  EXPECT_EQ((*trainer)->memory().snapshot, predicted->snapshot);
  EXPECT_GT(predicted->snapshot, 0u);
  EXPECT_EQ(predicted->peak(), predicted->session.peak()); // the snapshot is the host's
}

TEST_F(CudaTrainerTest, AGpuThatFailsEndsTheRun) {
  TrainOptions options = trainOptions(8);
  options.onStep = [&](const StepRecord &record) {
    if (record.step == 4)
      driver.fault(CUDA_ERROR_ILLEGAL_ADDRESS);
  };
  auto trainer = makeTrainer(model(true), options);
  ASSERT_TRUE(trainer);
  auto result = (*trainer)->run();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("program 'train_step'"), std::string::npos)
      << result.error().message();
}

} // namespace
