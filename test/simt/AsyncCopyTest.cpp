//===- AsyncCopyTest.cpp - cp.async, its groups and its waits -------------===//
#include "test/simt/TestKernels.h"

#include <numeric>

using namespace sinter::simt;

namespace {

constexpr auto asyncCopySource = R"(
using namespace sinter::simt;

// Every thread copies 4 floats into a tile, waits or not, meets the others or not, and reads what
// another thread copied.
template <bool wait, bool sync> __device__ void through_tile(const float *in, float *out) {
  __shared__ __align__(16) float tile[128];
  int t = threadIdx.x;
  cpAsync16(tile + 4 * t, in + 4 * t);
  cpAsyncCommit();
  if (wait)
    cpAsyncWait(0);
  if (sync)
    __syncthreads();
  out[t] = tile[127 - 4 * t];
}
extern "C" __global__ void copy_right(const float *in, float *out) { through_tile<true, true>(in, out); }
extern "C" __global__ void copy_no_wait(const float *in, float *out) { through_tile<false, true>(in, out); }
extern "C" __global__ void copy_no_sync(const float *in, float *out) { through_tile<true, false>(in, out); }

// A ring of two stages over 8 tiles of 32 floats: the sum of each column. Without the trailing barrier a
// fast thread overwrites what a slow one still reads, and the result may be right all the same.
template <int pending, bool trailing> __device__ void ring(const float *in, float *out) {
  float *tiles = static_cast<float *>(dynamicShared());
  int t = threadIdx.x;
  float sum = 0;
  cpAsync4(tiles + t, in + t);
  cpAsyncCommit();
  for (int step = 0; step < 8; ++step) {
    if (step + 1 < 8)
      cpAsync4(tiles + (step + 1) % 2 * 64 + t, in + (step + 1) * 64 + t);
    cpAsyncCommit();
    cpAsyncWait(pending);
    __syncthreads();
    sum += tiles[step % 2 * 64 + (t + 33) % 64];
    if (trailing)
      __syncthreads();
  }
  out[t] = sum;
}
extern "C" __global__ void ring_right(const float *in, float *out) { ring<1, true>(in, out); }
extern "C" __global__ void ring_late_wait(const float *in, float *out) { ring<2, true>(in, out); }
extern "C" __global__ void ring_no_trailing(const float *in, float *out) { ring<1, false>(in, out); }

extern "C" __global__ void zero_fill(const int *in, int *out) {
  __shared__ __align__(16) int a[4], b[4], c[2];
  if (threadIdx.x == 0) {
    cpAsync16(a, in, 8);
    cpAsync16(b, nullptr, 0);
    cpAsync8(c, in + 2);
    cpAsyncCommit();
    cpAsyncWait(0);
    for (int i = 0; i < 4; ++i) {
      out[i] = a[i];
      out[4 + i] = b[i];
    }
    out[8] = c[0];
    out[9] = c[1];
  }
}

template <int offset> __device__ void shifted(const float *in, float *out) {
  __shared__ __align__(16) float tile[8];
  cpAsync16(tile, in + offset);
  cpAsyncCommit();
  cpAsyncWait(0);
  out[0] = tile[0];
}
extern "C" __global__ void source_aligned(const float *in, float *out) { shifted<4>(in, out); }
extern "C" __global__ void source_misaligned(const float *in, float *out) { shifted<2>(in, out); }
extern "C" __global__ void source_past_end(const float *in, float *out) { shifted<512>(in, out); }
)";

const TestKernels &asyncCopyKernels() {
  static TestKernels compiled("copies.cu", asyncCopySource);
  return compiled;
}

class AsyncCopyTest : public KernelTest {
protected:
  void SetUp() override {
    KernelTest::SetUp();
    std::vector<float> values(512);
    std::iota(values.begin(), values.end(), 0.0f);
    in = memory.copyOf(values);
    out = memory.array<float>(64);
  }
  Report run(const char *kernel, unsigned block, Schedule schedule = {}) {
    return asyncCopyKernels().run(
        kernel, {.block = block, .sharedBytes = 2 * 64 * sizeof(float), .schedule = schedule},
        {in, out});
  }

  float *in = nullptr, *out = nullptr;
};

TEST_F(AsyncCopyTest, ATileArrivesAfterWaitAndBarrier) {
  for (Schedule schedule : schedules()) {
    Report report = run("copy_right", 32, schedule);
    EXPECT_TRUE(report.clean()) << report;
    EXPECT_EQ(memory.values(out, 32)[3], 115);
  }
}

TEST_F(AsyncCopyTest, FindsAMissingWait) {
  for (Schedule schedule : schedules())
    EXPECT_TRUE(finds(run("copy_no_wait", 32, schedule), Defect::MissingWait,
                      {"reads static shared byte", "cp.async of thread", "copies.cu:15"}));
}

TEST_F(AsyncCopyTest, FindsAMissingBarrierAfterTheWait) {
  for (Schedule schedule : schedules())
    EXPECT_TRUE(
        finds(run("copy_no_sync", 32, schedule), Defect::Race, {"static shared", "copies.cu:"}));
}

TEST_F(AsyncCopyTest, ARingOfStagesSums) {
  for (Schedule schedule : schedules()) {
    Report report = run("ring_right", 64, schedule);
    EXPECT_TRUE(report.clean()) << report;
    EXPECT_EQ(memory.values(out, 64)[2], 8 * 35 + 64 * 28);
  }
}

TEST_F(AsyncCopyTest, FindsAWaitThatIsOneGroupLate) {
  for (Schedule schedule : schedules())
    EXPECT_TRUE(finds(run("ring_late_wait", 64, schedule), Defect::MissingWait,
                      {"dynamic shared byte", "copies.cu:35 (ring<2, true>)"}));
}

TEST_F(AsyncCopyTest, FindsAStageThatIsOverwrittenTooEarly) {
  for (Schedule schedule : schedules())
    EXPECT_TRUE(finds(run("ring_no_trailing", 64, schedule), Defect::Race,
                      {"writes dynamic shared byte", "read, with nothing", "copies.cu:31"}));
}

TEST_F(AsyncCopyTest, WhatDoesNotComeFromTheSourceIsZero) {
  std::vector<int> values = {1, 2, 3, 4};
  int *result = memory.array<int>(10);
  Report report =
      asyncCopyKernels().run("zero_fill", {.block = 32}, {memory.copyOf(values), result});
  EXPECT_TRUE(report.clean()) << report;
  EXPECT_EQ(memory.values(result, 10), (std::vector<int>{1, 2, 0, 0, 0, 0, 0, 0, 3, 4}));
}

TEST_F(AsyncCopyTest, FindsDefectsOfTheSource) {
  EXPECT_TRUE(run("source_aligned", 1).clean());
  EXPECT_TRUE(finds(run("source_misaligned", 1), Defect::Misaligned,
                    {"16 bytes at byte 8 of an allocation of 2048 bytes", "copies.cu:64",
                     "called from copies.cu:70"}));
  EXPECT_TRUE(finds(run("source_past_end", 1), Defect::OutOfBounds,
                    {"reads 0 bytes past the end of an allocation of 2048 bytes"}));
}

} // namespace
