//===- IntrinsicsTest.cpp - Atomics, bits and mathematics by CUDA's names --===//
#include "test/simt/TestKernels.h"

#include <cmath>

using namespace sinter::simt;

namespace {

constexpr auto intrinsicsSource = R"(
// Every kind of atomic operation on a word of its own, by 96 threads with values 1 to 96.
extern "C" __global__ void atomics(unsigned *x) {
  unsigned value = threadIdx.x + 1;
  atomicAdd(x + 0, value);
  atomicSub(x + 1, value);
  atomicMax(x + 2, value);
  atomicMin(x + 3, value);
  atomicAnd(x + 4, ~(1u << threadIdx.x % 32));
  atomicOr(x + 5, 1u << threadIdx.x % 32);
  atomicXor(x + 6, value);
  atomicInc(x + 7, 9u);
  atomicDec(x + 8, 9u);
  atomicCAS(x + 9, 7u, value);
  atomicExch(x + 10, 5u);
  atomicAdd(reinterpret_cast<float *>(x + 11), 0.5f);
  atomicMax(reinterpret_cast<int *>(x + 12), (int)value - 200);
}

extern "C" __global__ void words(const unsigned *in, unsigned *out) {
  unsigned x = in[0], y = in[1];
  out[0] = __popc(x);
  out[1] = __clz(x);
  out[2] = __clz(0);
  out[3] = __ffs(x);
  out[4] = __brev(x);
  out[5] = __umulhi(x, y);
  out[6] = __mulhi((int)x, (int)y);
  out[7] = __funnelshift_l(x, y, 8);
  out[8] = __funnelshift_r(x, y, 8);
  out[9] = __byte_perm(x, y, 0x7140);
  out[10] = __byte_perm(x, y, 0x000c);
  out[11] = min(-1, 2) + max(3u, 4u);
  out[12] = min(-1, 2u);
  out[13] = __float_as_uint(__int_as_float(x));
  out[14] = __activemask();
}

extern "C" __global__ void floats(const float *in, float *out) {
  float x = in[0], y = in[1];
  out[0] = rsqrtf(x);
  out[1] = __saturatef(y);
  out[2] = __frcp_rn(x);
  out[3] = normcdff(y);
  out[4] = __fadd_rn(__fmul_rn(x, x), y);
  out[5] = __fmaf_rn(x, x, y);
  out[6] = __float2int_rn(2.5f) * 1000 + __float2int_rz(-2.5f) * 100 + __float2int_rd(-2.5f) * 10 + __float2int_ru(2.5f);
  out[7] = max(x, y) - min(x, y);
}

// Two warps hand a number over by a flag that is polled. The detector of races does not follow that,
// but a thread that sleeps lets the others go on.
extern "C" __global__ void poll(int *out) {
  __shared__ volatile int box[2];
  if (threadIdx.x == 0)
    box[1] = 0;
  __syncthreads();
  if (threadIdx.x == 32) {
    box[0] = 42;
    box[1] = 1;
  }
  if (threadIdx.x == 0) {
    while (box[1] == 0)
      __nanosleep(20);
    *out = box[0];
  }
}
)";

const TestKernels &intrinsicsKernels() {
  static TestKernels compiled("intrinsics.cu", intrinsicsSource);
  return compiled;
}

class IntrinsicsTest : public KernelTest {};

TEST_F(IntrinsicsTest, AtomicOperations) {
  for (Schedule schedule : schedules()) {
    std::vector<unsigned> start = {0, 5000, 0, 200, ~0u, 0, 0, 0, 0, 7, 0, 0, unsigned(-500)};
    unsigned *x = memory.copyOf(start);
    Report report = intrinsicsKernels().run("atomics", {.block = 96, .schedule = schedule}, {x});
    EXPECT_TRUE(report.clean()) << report;
    auto got = memory.values(x, start.size());
    EXPECT_EQ(got[0], 96u * 97 / 2);
    EXPECT_EQ(got[1], 5000u - 96 * 97 / 2);
    EXPECT_EQ(got[2], 96u);
    EXPECT_EQ(got[3], 1u);
    EXPECT_EQ(got[4], 0u);
    EXPECT_EQ(got[5], ~0u);
    EXPECT_EQ(got[6], 96u); // the exclusive or of 1 to n is n where n is a multiple of 4
    EXPECT_EQ(got[7], 6u);  // 0 to 9 in a circle
    EXPECT_EQ(got[8], 4u);  // 9 down to 0 in a circle
    EXPECT_TRUE(got[9] >= 1 && got[9] <= 96);
    EXPECT_EQ(got[10], 5u);
    EXPECT_EQ(got[11], 0x42400000u); // 48
    EXPECT_EQ(int(got[12]), 96 - 200);
  }
}

TEST_F(IntrinsicsTest, Words) {
  unsigned x = 0x01234567, y = 0x89abcdef;
  unsigned *out = memory.array<unsigned>(15);
  Report report =
      intrinsicsKernels().run("words", {.block = 1}, {memory.copyOf(std::vector{x, y}), out});
  EXPECT_TRUE(report.clean()) << report;
  std::vector<unsigned> expected = {
      12,
      7,
      32,
      1,
      0xe6a2c480,
      unsigned(uint64_t(x) * y >> 32),
      unsigned(int64_t(int(x)) * int(y) >> 32),
      0xabcdef01, // the upper word of y:x shifted left by 8
      0xef012345, // the lower word of y:x shifted right by 8
      0x8945ef67, // bytes 7, 1, 4, 0
      0x676767ff, // 8 + 4 stands for the sign of byte 4, which is 0xef
      3,
      2, // as unsigned numbers, -1 is the larger one
      x,
      1};
  EXPECT_EQ(memory.values(out, 15), expected);
}

TEST_F(IntrinsicsTest, Floats) {
  float x = 1 + 0x1p-12f, y = -1.5f;
  float *out = memory.array<float>(8);
  Report report =
      intrinsicsKernels().run("floats", {.block = 1}, {memory.copyOf(std::vector{x, y}), out});
  EXPECT_TRUE(report.clean()) << report;
  auto got = memory.values(out, 8);
  EXPECT_NEAR(got[0], 1 / std::sqrt(x), 1e-7);
  EXPECT_EQ(got[1], 0);
  EXPECT_EQ(got[2], 1 / x);
  EXPECT_NEAR(got[3], 0.0668072, 1e-6);
  EXPECT_EQ(got[4], -0.5f + 0x1p-11f);            // x * x is rounded before the sum
  EXPECT_EQ(got[5], -0.5f + 0x1p-11f + 0x1p-24f); // and here it is not
  EXPECT_EQ(got[6], 2 * 1000 - 2 * 100 - 3 * 10 + 3);
  EXPECT_EQ(got[7], x - y);
}

TEST_F(IntrinsicsTest, AThreadThatSleepsLetsOthersGoOn) {
  static TestKernels fast("intrinsics.cu", intrinsicsSource, false);
  for (Schedule schedule : schedules()) {
    int *out = memory.array<int>(1);
    EXPECT_TRUE(fast.run("poll", {.block = 64, .schedule = schedule}, {out}).clean());
    EXPECT_EQ(memory.values(out, 1)[0], 42);
  }
  int *out = memory.array<int>(1);
  EXPECT_TRUE(intrinsicsKernels().run("poll", {.block = 64}, {out}).has(Defect::Race));
}

} // namespace
