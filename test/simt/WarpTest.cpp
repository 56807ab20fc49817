//===- WarpTest.cpp - Shuffles, votes and barriers ------------------------===//
#include "test/simt/TestKernels.h"

#include <cmath>
#include <numeric>

using namespace sinter::simt;

namespace {

constexpr auto warpSource = R"(
extern "C" __global__ void shuffles(int *out) {
  int lane = threadIdx.x;
  out[lane] = __shfl_sync(0xffffffffu, lane, 5);
  out[32 + lane] = __shfl_sync(0xffffffffu, lane, 3, 8);
  out[64 + lane] = __shfl_up_sync(0xffffffffu, lane, 2);
  out[96 + lane] = __shfl_down_sync(0xffffffffu, lane, 3, 16);
  out[128 + lane] = __shfl_xor_sync(0xffffffffu, lane, 9);
}

extern "C" __global__ void halves(int *out) {
  int lane = threadIdx.x % 32;
  // Both halves meet by themselves, from different places and in either order.
  if (lane < 16)
    out[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, lane, 1);
  else
    out[threadIdx.x] = 100 + __shfl_sync(0xffff0000u, lane, 17);
}

extern "C" __global__ void votes(unsigned *out) {
  int lane = threadIdx.x % 32;
  unsigned even = __ballot_sync(0xffffffffu, lane % 2 == 0);
  int any = __any_sync(0xffffffffu, lane == 7), all = __all_sync(0xffffffffu, lane < 31);
  unsigned match = __match_any_sync(0xffffffffu, lane / 4);
  int sum = __reduce_add_sync(0xffffffffu, lane), most = __reduce_max_sync(0xffffffffu, lane);
  int count = __syncthreads_count(threadIdx.x < 40), both = __syncthreads_and(1);
  if (threadIdx.x == 33) {
    out[0] = even; out[1] = any; out[2] = all; out[3] = match;
    out[4] = sum; out[5] = most; out[6] = count; out[7] = both;
  }
}

__device__ float warp_sum(float v) {
  for (int m = 16; m; m >>= 1)
    v += __shfl_xor_sync(0xffffffffu, v, m);
  return v;
}

extern "C" __global__ void __launch_bounds__(256) block_sum(const float *__restrict__ in, float *out) {
  __shared__ float part[32];
  float v = warp_sum(in[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0.0f;
  v = warp_sum(v);
  if (threadIdx.x == 0)
    out[blockIdx.x] = v;
}

extern "C" __global__ void warp_exchange(int *out) {
  __shared__ int box[64];
  box[threadIdx.x] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = box[threadIdx.x ^ 1];
}

extern "C" __global__ void partial_warp(int *out) {
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, 1);
}

extern "C" __global__ void half_leaves(float *out) {
  if (threadIdx.x % 32 >= 16)
    return;
  __syncwarp();
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, (float)threadIdx.x, 1);
  out[64 + threadIdx.x] = __shfl_xor_sync(0xffffffffu, (float)threadIdx.x, 16);
}

template <bool early> __device__ void leave(int *out) {
  if (early && threadIdx.x == 3)
    return;
  __syncthreads();
  out[threadIdx.x] = 1;
}
extern "C" __global__ void early_exit(int *out) { leave<true>(out); }
extern "C" __global__ void late_exit(int *out) { leave<false>(out); }

extern "C" __global__ void two_barriers(int *out) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}

extern "C" __global__ void split_warp(int *out) {
  if (threadIdx.x % 2)
    out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
  else
    out[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
}

extern "C" __global__ void not_in_mask(int *out) {
  out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 0);
}

extern "C" __global__ void deadlock(int *out) {
  if (threadIdx.x < 16)
    __syncwarp();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}
)";

const TestKernels &warpKernels() {
  static TestKernels compiled("warp.cu", warpSource);
  return compiled;
}

class WarpTest : public KernelTest {};

TEST_F(WarpTest, ShufflesFollowTheirSegments) {
  for (Schedule schedule : schedules()) {
    int *out = memory.array<int>(160);
    Report report = warpKernels().run("shuffles", {.block = 32, .schedule = schedule}, {out});
    EXPECT_TRUE(report.clean()) << report;
    auto values = memory.values(out, 160);
    for (int lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(values[lane], 5);
      EXPECT_EQ(values[32 + lane], lane / 8 * 8 + 3);
      EXPECT_EQ(values[64 + lane], lane >= 2 ? lane - 2 : lane);
      EXPECT_EQ(values[96 + lane], lane % 16 + 3 < 16 ? lane + 3 : lane);
      EXPECT_EQ(values[128 + lane], lane ^ 9);
    }
  }
}

TEST_F(WarpTest, HalvesOfAWarpMeetByThemselves) {
  for (Schedule schedule : schedules()) {
    int *out = memory.array<int>(64);
    Report report = warpKernels().run("halves", {.block = 64, .schedule = schedule}, {out});
    EXPECT_TRUE(report.clean()) << report;
    auto values = memory.values(out, 64);
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(values[i], i % 32 < 16 ? (i % 32) ^ 1 : 117);
  }
}

TEST_F(WarpTest, VotesCountEveryLane) {
  unsigned *out = memory.array<unsigned>(8);
  Report report = warpKernels().run("votes", {.block = 64}, {out});
  EXPECT_TRUE(report.clean()) << report;
  EXPECT_EQ(memory.values(out, 8),
            (std::vector<unsigned>{0x55555555u, 1, 0, 0xfu, 496, 31, 40, 1}));
}

TEST_F(WarpTest, ABlockSumsInEveryOrder) {
  std::vector<float> in(3 * 256);
  std::iota(in.begin(), in.end(), 1.0f);
  for (Schedule schedule : schedules()) {
    float *out = memory.array<float>(3);
    Report report = warpKernels().run("block_sum", {.grid = 3, .block = 256, .schedule = schedule},
                                      {memory.copyOf(in), out});
    EXPECT_TRUE(report.clean()) << report;
    EXPECT_EQ(report.blocks, 3u);
    EXPECT_EQ(memory.values(out, 3), (std::vector<float>{32896, 98432, 163968}));
  }
}

TEST_F(WarpTest, SyncwarpOrdersTheLanesOfAWarp) {
  for (Schedule schedule : schedules()) {
    int *out = memory.array<int>(64);
    Report report = warpKernels().run("warp_exchange", {.block = 64, .schedule = schedule}, {out});
    EXPECT_TRUE(report.clean()) << report;
    EXPECT_EQ(memory.values(out, 64)[6], 7);
  }
}

TEST_F(WarpTest, LanesThatNeverWereAreLeftOut) {
  int *out = memory.array<int>(40);
  Report report = warpKernels().run("partial_warp", {.block = 40}, {out});
  EXPECT_TRUE(report.clean()) << report;
  EXPECT_EQ(memory.values(out, 40)[38], 39);
}

TEST_F(WarpTest, LanesThatHaveFinishedNeedNotCome) {
  for (Schedule schedule : schedules()) {
    float *out = memory.array<float>(128);
    Report report = warpKernels().run("half_leaves", {.block = 64, .schedule = schedule}, {out});
    EXPECT_TRUE(report.clean()) << report;
    auto values = memory.values(out, 128);
    EXPECT_EQ(values[33], 32);
    EXPECT_TRUE(std::isnan(values[64 + 33])) << "what a finished lane would have given";
  }
}

TEST_F(WarpTest, FindsAThreadThatLeavesBeforeABarrier) {
  int *out = memory.array<int>(64);
  EXPECT_TRUE(finds(warpKernels().run("early_exit", {.block = 64}, {out}), Defect::Divergence,
                    {"thread 3 has finished", "warp.cu:73 (leave<true>)"}));
  EXPECT_TRUE(warpKernels().run("late_exit", {.block = 64}, {out}).clean());
}

TEST_F(WarpTest, FindsABarrierThatIsNotTheSame) {
  int *out = memory.array<int>(64);
  EXPECT_TRUE(finds(warpKernels().run("two_barriers", {.block = 64}, {out}), Defect::Divergence,
                    {"a barrier that is not the same", "warp.cu:81", "warp.cu:83"}));
}

TEST_F(WarpTest, FindsLanesAtDifferentOperations) {
  int *out = memory.array<int>(32);
  Report report = warpKernels().run("split_warp", {.block = 32}, {out});
  EXPECT_TRUE(finds(report, Defect::Divergence,
                    {"__shfl_sync", "__ballot_sync at warp.cu:91", "at warp.cu:89"}));
  EXPECT_TRUE(report.has(Defect::Deadlock));
}

TEST_F(WarpTest, FindsALaneOutsideOfItsMask) {
  int *out = memory.array<int>(32);
  EXPECT_TRUE(finds(warpKernels().run("not_in_mask", {.block = 32}, {out}), Defect::Divergence,
                    {"thread 16 is not in the mask", "warp.cu:95"}));
}

TEST_F(WarpTest, FindsADeadlockAndRunsOnAfterIt) {
  int *out = memory.array<int>(32);
  Report report = warpKernels().run("deadlock", {.block = 32}, {out});
  EXPECT_TRUE(finds(report, Defect::Deadlock, {"warp operation with 15 others", "warp.cu:100"}));
  EXPECT_TRUE(finds(report, Defect::Deadlock, {"barrier with 15 others", "warp.cu:102"}));
  EXPECT_TRUE(warpKernels().run("late_exit", {.block = 32}, {out}).clean());
}

TEST_F(WarpTest, RefusesWhatNoDeviceLaunches) {
  int *out = memory.array<int>(32);
  EXPECT_TRUE(finds(warpKernels().run("late_exit", {.block = 2048}, {out}), Defect::InvalidLaunch,
                    {"1 to 1024 threads, not 2048"}));
  EXPECT_TRUE(finds(warpKernels().run("late_exit", {.grid = 0}, {out}), Defect::InvalidLaunch,
                    {"at least one block"}));
  EXPECT_TRUE(finds(warpKernels().run("late_exit", {}, {out, out}), Defect::InvalidLaunch,
                    {"it takes 1 arguments, not 2"}));
  EXPECT_TRUE(finds(warpKernels().run("late_exit", {.sharedBytes = 1 << 20}, {out}),
                    Defect::InvalidLaunch, {"1048576 bytes", "232448 is the most"}));
}

} // namespace
