//===- MemoryTest.cpp - Races, bounds and initialisation ------------------===//
#include "test/simt/TestKernels.h"

#include <cmath>
#include <tuple>

using namespace sinter::simt;

namespace {

constexpr auto memorySource = R"(
template <bool sync> __device__ void neighbour(int *out) {
  __shared__ int box[128];
  box[threadIdx.x] = threadIdx.x;
  if (sync)
    __syncthreads();
  out[threadIdx.x] = box[(threadIdx.x + 32) % 128];
}
extern "C" __global__ void neighbour_right(int *out) { neighbour<true>(out); }
extern "C" __global__ void neighbour_racing(int *out) { neighbour<false>(out); }

// The scratch of a reduction is used twice; without the barrier in between the second use overwrites
// what slow threads still read of the first.
template <bool between> __device__ void reuse(int *out) {
  __shared__ int box;
  for (int round = 0; round < 2; ++round) {
    if (threadIdx.x == 0)
      box = round;
    __syncthreads();
    out[threadIdx.x] = box;
    if (between)
      __syncthreads();
  }
}
extern "C" __global__ void reuse_right(int *out) { reuse<true>(out); }
extern "C" __global__ void reuse_racing(int *out) { reuse<false>(out); }

template <bool all> __device__ void initialise(float *out) {
  __shared__ float box[64];
  if (all || threadIdx.x != 20)
    box[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = box[63 - threadIdx.x];
}
extern "C" __global__ void initialised(float *out) { initialise<true>(out); }
extern "C" __global__ void uninitialised(float *out) { initialise<false>(out); }
extern "C" __global__ void accumulate(float *out) { out[threadIdx.x] += 1; }

template <int count> __device__ void copy(const float *in, float *out) {
  for (int i = threadIdx.x; i < count; i += 32)
    out[i] = in[i];
}
extern "C" __global__ void in_bounds(const float *in, float *out) { copy<100>(in, out); }
extern "C" __global__ void out_of_bounds(const float *in, float *out) { copy<101>(in, out); }
extern "C" __global__ void dynamic_bounds(float *out) {
  float *box = static_cast<float *>(sinter::simt::dynamicShared());
  box[threadIdx.x] = 1;
  out[threadIdx.x] = box[threadIdx.x];
}

typedef float float_vector __attribute__((vector_size(16)));
template <int offset> __device__ void vectors(const float *in, float *out) {
  float_vector v = *reinterpret_cast<const float_vector *>(in + offset);
  out[0] = v[0] + v[3];
}
extern "C" __global__ void aligned_vector(const float *in, float *out) { vectors<4>(in, out); }
extern "C" __global__ void misaligned_vector(const float *in, float *out) { vectors<1>(in, out); }

// Each block writes a part; the last one to arrive adds them up.
template <bool fence, bool sync> __device__ void last_block(float *part, unsigned *ticket, float *out) {
  __shared__ bool last;
  part[blockIdx.x * 64 + threadIdx.x] = blockIdx.x + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    if (fence)
      __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  if (sync)
    __syncthreads();
  if (last) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; ++i)
      sum += part[i * 64 + threadIdx.x];
    out[threadIdx.x] = sum;
    if (threadIdx.x == 0)
      *ticket = 0;
  }
}
extern "C" __global__ void last_right(float *p, unsigned *t, float *o) { last_block<true, true>(p, t, o); }
extern "C" __global__ void last_no_fence(float *p, unsigned *t, float *o) { last_block<false, true>(p, t, o); }
extern "C" __global__ void last_no_sync(float *p, unsigned *t, float *o) { last_block<true, false>(p, t, o); }

extern "C" __global__ void blocks_collide(int *out) { out[threadIdx.x] = blockIdx.x; }
extern "C" __global__ void histogram(int *out) { atomicAdd(&out[threadIdx.x % 4], 1); }
extern "C" __global__ void half_atomic(int *out) {
  if (threadIdx.x == 0)
    out[0] = 5;
  else
    atomicAdd(out, 1);
}

extern "C" __global__ void deep(float *out) {
  volatile float local[65536];
  for (int i = 65535; i >= 0; --i)
    local[i] = i;
  out[0] = local[100];
}

extern "C" __global__ void update_in_place(float *x) {
  __shared__ float box[32];
  box[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = box[31 - threadIdx.x];
}
)";

const TestKernels &memoryKernels() {
  static TestKernels compiled("memory.cu", memorySource);
  return compiled;
}

class MemoryTest : public KernelTest {
protected:
  /// The kernel must be clean in every order.
  void expectClean(const char *kernel, Launch shape, std::initializer_list<void *> pointers) {
    for (Schedule schedule : schedules()) {
      shape.schedule = schedule;
      Report report = memoryKernels().run(kernel, shape, pointers);
      EXPECT_TRUE(report.clean()) << report;
    }
  }
  /// The defect must be found in every order.
  void expectFound(const char *kernel, Launch shape, std::initializer_list<void *> pointers,
                   Defect defect, std::initializer_list<const char *> texts) {
    for (Schedule schedule : schedules()) {
      shape.schedule = schedule;
      EXPECT_TRUE(finds(memoryKernels().run(kernel, shape, pointers), defect, texts));
    }
  }
};

TEST_F(MemoryTest, FindsAMissingBarrier) {
  int *out = memory.array<int>(128);
  expectClean("neighbour_right", {.block = 128}, {out});
  expectFound("neighbour_racing", {.block = 128}, {out}, Defect::Race,
              {"static shared byte", "neighbour", "called from memory.cu:10"});
}

TEST_F(MemoryTest, FindsScratchReusedTooEarly) {
  int *out = memory.array<int>(64);
  expectClean("reuse_right", {.block = 64}, {out});
  expectFound("reuse_racing", {.block = 64}, {out}, Defect::Race,
              {"thread 0 writes static shared byte", "read, with nothing", "memory.cu:18"});
}

TEST_F(MemoryTest, FindsSharedMemoryThatNobodyWrote) {
  float *out = memory.array<float>(64);
  expectClean("initialised", {.block = 64}, {out});
  expectFound("uninitialised", {.block = 64}, {out}, Defect::Uninitialised,
              {"thread 43 reads static shared byte", "memory.cu:33"});
}

TEST_F(MemoryTest, SharedMemoryIsPoisonedForEveryBlock) {
  float *out = memory.array<float>(64);
  memoryKernels().run("initialised", {.block = 64}, {out});
  memoryKernels().run("uninitialised", {.block = 64}, {out});
  EXPECT_TRUE(std::isnan(memory.values(out, 64)[43]));
}

TEST_F(MemoryTest, FindsGlobalMemoryThatNobodyWrote) {
  float *fresh = memory.array<float>(32);
  EXPECT_TRUE(finds(memoryKernels().run("accumulate", {.block = 32}, {fresh}),
                    Defect::Uninitialised,
                    {"byte 0 of an allocation of 128 bytes", "(accumulate)"}));
  std::vector<float> zeros(32);
  expectClean("accumulate", {.block = 32}, {memory.copyOf(zeros)});
}

TEST_F(MemoryTest, WhatAFastKernelMayHaveWrittenCountsAsInitialised) {
  static TestKernels fast("memory.cu", memorySource, false);
  float *fresh = memory.array<float>(64);
  EXPECT_TRUE(fast.run("initialised", {.block = 64}, {fresh}).clean());
  EXPECT_TRUE(memoryKernels().run("accumulate", {.block = 64}, {fresh}).clean());
  EXPECT_EQ(memory.values(fresh, 64), std::vector<float>(64, 2.0f));
}

TEST_F(MemoryTest, FindsAccessesOutOfBounds) {
  std::vector<float> values(100, 1.0f);
  float *in = memory.copyOf(values), *out = memory.array<float>(104);
  expectClean("in_bounds", {.block = 32}, {in, out});
  expectFound(
      "out_of_bounds", {.block = 32}, {in, out}, Defect::OutOfBounds,
      {"thread 4 reads 0 bytes past the end of an allocation of 400 bytes", "memory.cu:41"});
  float *small = memory.array<float>(100);
  expectFound("out_of_bounds", {.block = 32}, {out, small}, Defect::OutOfBounds,
              {"thread 4 writes 0 bytes past the end of an allocation of 400 bytes"});
}

TEST_F(MemoryTest, FindsAccessesToMemoryThatWasReleased) {
  std::vector<float> values(100, 1.0f);
  float *in = memory.copyOf(values), *out = memory.array<float>(100);
  memory.release(in);
  EXPECT_TRUE(finds(memoryKernels().run("in_bounds", {.block = 32}, {in, out}), Defect::OutOfBounds,
                    {"thread 0 reads", "memory.cu:41"}));
}

TEST_F(MemoryTest, FindsAccessesPastDynamicSharedMemory) {
  float *out = memory.array<float>(64);
  expectClean("dynamic_bounds", {.block = 64, .sharedBytes = 256}, {out});
  expectFound("dynamic_bounds", {.block = 64, .sharedBytes = 252}, {out}, Defect::OutOfBounds,
              {"thread 63 writes dynamic shared byte 252 of 252", "(dynamic_bounds)"});
}

TEST_F(MemoryTest, FindsMisalignedVectors) {
  std::vector<float> values(8, 1.0f);
  float *in = memory.copyOf(values), *out = memory.array<float>(1);
  expectClean("aligned_vector", {.block = 1}, {in, out});
  expectFound("misaligned_vector", {.block = 1}, {in, out}, Defect::Misaligned,
              {"16 bytes at byte 4 of an allocation of 32 bytes", "memory.cu:53 (vectors<1>)"});
  expectFound("aligned_vector", {.block = 1}, {nullptr, out}, Defect::OutOfBounds,
              {"address 16, where no memory is", "memory.cu:53 (vectors<4>)"});
}

TEST_F(MemoryTest, AFastKernelThatCrashesIsNamed) {
  static TestKernels fast("memory.cu", memorySource, false);
  float *out = memory.array<float>(1);
  EXPECT_DEATH(fast.run("aligned_vector", {.block = 1}, {nullptr, out}),
               "aligned_vector: block 0, thread 0 touched memory that is not there .address 0x10");
  EXPECT_DEATH(fast.run("deep", {.block = 40}, {out}),
               "deep: block 0, thread 0 has more local variables than its stack holds");
}

TEST_F(MemoryTest, TheLastBlockMayReadWhatTheOthersPublished) {
  float *part = memory.array<float>(5 * 64), *out = memory.array<float>(64);
  unsigned *ticket = memory.copyOf(std::vector<unsigned>{0});
  expectClean("last_right", {.grid = 5, .block = 64}, {part, ticket, out});
  EXPECT_EQ(memory.values(out, 64), std::vector<float>(64, 15.0f));
  expectFound("last_no_fence", {.grid = 5, .block = 64}, {part, ticket, out}, Defect::Race,
              {"of block", "wrote, with nothing", "memory.cu:74"});
}

TEST_F(MemoryTest, FindsALastBlockThatDoesNotWaitForTheTicket) {
  float *part = memory.array<float>(5 * 64), *out = memory.array<float>(64);
  unsigned *ticket = memory.copyOf(std::vector<unsigned>{0});
  Report report =
      memoryKernels().run("last_no_sync", {.grid = 5, .block = 64}, {part, ticket, out});
  EXPECT_TRUE(finds(report, Defect::Race, {"static shared byte", "memory.cu:71"}));
}

TEST_F(MemoryTest, FindsBlocksThatWriteTheSame) {
  int *out = memory.array<int>(32);
  expectClean("blocks_collide", {.grid = 1, .block = 32}, {out});
  expectFound(
      "blocks_collide", {.grid = 2, .block = 32}, {out}, Defect::Race,
      {"of an allocation of 128 bytes", "wrote, with nothing", "memory.cu:84 (blocks_collide)"});
}

TEST_F(MemoryTest, AtomicOperationsDoNotRace) {
  int *out = memory.copyOf(std::vector<int>(4));
  expectClean("histogram", {.grid = 3, .block = 64}, {out});
  EXPECT_EQ(memory.values(out, 4), std::vector<int>(4, 4 * 48));
  expectFound("half_atomic", {.block = 2}, {out}, Defect::Race, {"byte 0", "(half_atomic)"});
}

TEST_F(MemoryTest, LaunchesFollowOneAnother) {
  std::vector<float> values(32);
  for (int i = 0; i < 32; ++i)
    values[i] = float(i);
  float *x = memory.copyOf(values);
  expectClean("update_in_place", {.block = 32}, {x});
  EXPECT_EQ(memory.values(x, 32), values);
}

// In lines of 64 bytes, whether a line is written or only read.
TEST_F(MemoryTest, TellsWhatALaunchTouches) {
  float *in = memory.copyOf(std::vector<float>(100)), *out = memory.array<float>(100);
  auto touched = [&](const char *kernel, unsigned block, std::initializer_list<void *> pointers) {
    std::vector<std::tuple<const void *, size_t, bool>> ranges;
    for (const Touched &range : memoryKernels().run(kernel, {.block = block}, pointers).touched)
      ranges.push_back({range.begin, range.bytes, range.writes});
    return ranges;
  };
  EXPECT_EQ(
      touched("in_bounds", 32, {in, out}),
      (std::vector<std::tuple<const void *, size_t, bool>>{{in, 448, false}, {out, 448, true}}));
  EXPECT_EQ(touched("update_in_place", 32, {in + 16}),
            (std::vector<std::tuple<const void *, size_t, bool>>{{in + 16, 128, true}}));
}

} // namespace
