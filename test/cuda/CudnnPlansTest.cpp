//===- CudnnPlansTest.cpp - What the real cuDNN takes ---------------------===//
//
// The library itself, for GPUs that are not there: its process has LoadingDriver.cpp for a driver.
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/CudnnApi.h"
#include "runtime/Device/Cuda/CudnnProblem.h"

#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::cuda;

namespace {

class CudnnPlansTest : public ::testing::TestWithParam<int> {
protected:
  void SetUp() override {
    Expected<const CudnnApi *> api = cudnnApi();
    if (!api)
      GTEST_SKIP() << api.error().message();
    if ((*api)->cudnnGetVersion() < 90800)
      GTEST_SKIP() << "before version 9.8 cuDNN makes no plans without a GPU";
  }

  /// Causal attention of queries, keys and values that are rows of one product.
  static CudnnProblem packed(int64_t batch, int64_t length, int64_t heads, int64_t keyHeads,
                             int64_t headSize) {
    int64_t width = (heads + 2 * keyHeads) * headSize;
    CudnnProblem problem;
    problem.batch = batch;
    problem.length = problem.keys = length;
    problem.heads = heads;
    problem.keyHeads = keyHeads;
    problem.headSize = headSize;
    problem.query = problem.key = problem.value = {length * width, width, headSize};
    problem.scale = 0.125f;
    problem.causal = true;
    return problem;
  }

  void expectWorkspace(const CudnnProblem &problem) {
    Expected<uint64_t> bytes = findCudnnWorkspace(problem, {GetParam(), 0});
    ASSERT_TRUE(bytes) << bytes.error().message();
    // What a program has for it (compiler/Analysis/Target.h, LibraryAttention).
    EXPECT_LE(*bytes, 256u);
  }
};

TEST_P(CudnnPlansTest, TrainingOfGpt2) {
  CudnnProblem problem = packed(16, 1024, 12, 12, 64);
  problem.logsumexp = true;
  expectWorkspace(problem);
  // Another plan for the same needs the same.
  Expected<uint64_t> first = findCudnnWorkspace(problem, {GetParam(), 0});
  Expected<uint64_t> second = findCudnnWorkspace(problem, {GetParam(), 0});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
}

TEST_P(CudnnPlansTest, F16) {
  CudnnProblem problem = packed(2, 256, 4, 4, 64);
  problem.dtype = problem.outDtype = fb::DType::F16;
  expectWorkspace(problem);
}

TEST_P(CudnnPlansTest, SharedKeys) {
  CudnnProblem problem = packed(4, 2048, 32, 8, 128);
  problem.logsumexp = true;
  expectWorkspace(problem);
}

TEST_P(CudnnPlansTest, IntoF32) {
  CudnnProblem problem = packed(2, 100, 4, 4, 64);
  problem.outDtype = fb::DType::F32;
  expectWorkspace(problem);
}

TEST_P(CudnnPlansTest, Window) {
  CudnnProblem problem = packed(2, 512, 4, 4, 64);
  problem.window = 128;
  expectWorkspace(problem);
}

TEST_P(CudnnPlansTest, AllKeysOfOtherRows) {
  CudnnProblem problem = packed(2, 64, 4, 4, 80);
  problem.causal = false;
  problem.keys = 256;
  problem.key = problem.value = {256 * 320, 320, 80};
  expectWorkspace(problem);
}

// What the compiler does not ask for either.
TEST_P(CudnnPlansTest, OddHeads) {
  Expected<uint64_t> bytes = findCudnnWorkspace(packed(2, 64, 4, 4, 20), {GetParam(), 0});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().message(),
            "attention: cuDNN has no engine for it; our own kernels compute it");
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnPlansTest, ::testing::Values(8, 9, 10, 12));

} // namespace
