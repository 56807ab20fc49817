//===- TensorTest.cpp - Matrix products and matrix loads ------------------===//
#include "test/simt/TestKernels.h"

#include "runtime/Base/Float8.h"
#include "runtime/Base/HalfFloat.h"

#include <cmath>
#include <random>

using namespace sinter;
using namespace sinter::simt;

namespace {

// The fragments are filled element by element from the PTX ISA's tables, independently of ldmatrix.
constexpr auto tensorSource = R"(
// As many elements as a register has, one after the other from the lowest bits on.
template <class T> __device__ unsigned pack(const T *first, int stride) {
  T elements[4 / sizeof(T)];
  for (int i = 0; i < 4 / (int)sizeof(T); ++i)
    elements[i] = first[i * stride];
  unsigned word;
  __builtin_memcpy(&word, elements, 4);
  return word;
}

// d[16][8] += a[16][K] * b[K][8], all row-major, K = 16 of 16 bits and 32 of 8.
template <class T, class Sum, class Mma>
__device__ void product(const T *a, const T *b, Sum *d, Mma mma) {
  constexpr int together = 4 / sizeof(T), K = 8 * together;
  int group = threadIdx.x / 4, pair = threadIdx.x % 4;
  unsigned fa[4], fb[2];
  Sum fd[4];
  for (int i = 0; i < 4; ++i) {
    fa[i] = pack(a + (group + i % 2 * 8) * K + together * pair + i / 2 * K / 2, 1);
    fd[i] = d[(group + i / 2 * 8) * 8 + 2 * pair + i % 2];
  }
  for (int i = 0; i < 2; ++i)
    fb[i] = pack(b + (together * pair + K / 2 * i) * 8 + group, 8);
  mma(fd, fa, fb);
  for (int i = 0; i < 4; ++i)
    d[(group + i / 2 * 8) * 8 + 2 * pair + i % 2] = fd[i];
}
extern "C" __global__ void product_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *d) {
  product(a, b, d, [](auto &d, auto &a, auto &b) { sinter::simt::mmaM16N8K16Bf16(d, a, b); });
}
extern "C" __global__ void product_f16(const __half *a, const __half *b, float *d) {
  product(a, b, d, [](auto &d, auto &a, auto &b) { sinter::simt::mmaM16N8K16F16(d, a, b); });
}
extern "C" __global__ void product_s8(const signed char *a, const signed char *b, int *d) {
  product(a, b, d, [](auto &d, auto &a, auto &b) { sinter::simt::mmaM16N8K32S8(d, a, b); });
}
extern "C" __global__ void product_e4m3(const unsigned char *a, const unsigned char *b, float *d) {
  product(a, b, d,
          [](auto &d, auto &a, auto &b) { sinter::simt::mmaM16N8K32Fp8(d, a, b, false, false); });
}
extern "C" __global__ void product_e5m2_e4m3(const unsigned char *a, const unsigned char *b, float *d) {
  product(a, b, d,
          [](auto &d, auto &a, auto &b) { sinter::simt::mmaM16N8K32Fp8(d, a, b, true, false); });
}
extern "C" __global__ void product_e4m3_e5m2(const unsigned char *a, const unsigned char *b, float *d) {
  product(a, b, d,
          [](auto &d, auto &a, auto &b) { sinter::simt::mmaM16N8K32Fp8(d, a, b, false, true); });
}

// Four 8x8 matrices of 16-bit numbers, loaded in every way.
extern "C" __global__ void loads(const unsigned short *in, unsigned *out) {
  __shared__ __align__(16) unsigned short m[32 * 8];
  int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32)
    m[i] = in[i];
  __syncwarp();
  unsigned x1[1], x2[2], x4[4], t1[1], t2[2], t4[4];
  sinter::simt::ldmatrixX1(x1, m + lane % 8 * 8);
  sinter::simt::ldmatrixX2(x2, m + lane % 16 * 8);
  sinter::simt::ldmatrixX4(x4, m + lane * 8);
  sinter::simt::ldmatrixX1Trans(t1, m + lane % 8 * 8);
  sinter::simt::ldmatrixX2Trans(t2, m + lane % 16 * 8);
  sinter::simt::ldmatrixX4Trans(t4, m + lane * 8);
  unsigned *o = out + lane * 14;
  o[0] = x1[0]; o[1] = x2[0]; o[2] = x2[1]; o[7] = t1[0]; o[8] = t2[0]; o[9] = t2[1];
  for (int i = 0; i < 4; ++i) { o[3 + i] = x4[i]; o[10 + i] = t4[i]; }
}

template <int offset, bool sync> __device__ void load_row(unsigned *out) {
  __shared__ __align__(16) unsigned short m[33 * 8];
  for (int i = threadIdx.x; i < 33 * 8; i += 32)
    m[i] = i;
  if (sync)
    __syncwarp();
  unsigned x[4];
  sinter::simt::ldmatrixX4(x, m + threadIdx.x * 8 + offset);
  out[threadIdx.x] = x[0] + x[3];
}
extern "C" __global__ void load_right(unsigned *out) { load_row<0, true>(out); }
extern "C" __global__ void load_misaligned(unsigned *out) { load_row<4, true>(out); }
extern "C" __global__ void load_racing(unsigned *out) { load_row<0, false>(out); }

extern "C" __global__ void half_a_warp(float *out) {
  unsigned a[4] = {}, b[2] = {};
  float d[4] = {};
  sinter::simt::mmaM16N8K16Bf16(d, a, b);
  out[threadIdx.x] = d[0];
}
)";

const TestKernels &tensorKernels() {
  static TestKernels compiled("tensor.cu", tensorSource);
  return compiled;
}

class TensorTest : public KernelTest {
protected:
  /// Compares the kernel with a plain product of small integers, which formats have exactly up to
  /// 4, all but e5m2 up to 8.
  template <class Bits, class Sum = float>
  void expectProduct(const char *kernel, Bits (*narrow)(float), int largest = 8) {
    expectProduct<Bits, Sum>(kernel, narrow, narrow, largest);
  }
  template <class Bits, class Sum = float>
  void expectProduct(const char *kernel, Bits (*narrowA)(float), Bits (*narrowB)(float),
                     int largest) {
    constexpr int k = 32 / sizeof(Bits);
    std::mt19937 random(3);
    std::uniform_int_distribution<int> digit(-largest, largest);
    std::vector<float> a(16 * k), b(k * 8);
    std::vector<Sum> d(16 * 8), expected;
    for (auto *values : {&a, &b})
      for (float &value : *values)
        value = float(digit(random));
    for (Sum &value : d)
      value = Sum(digit(random));
    expected = d;
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j)
        for (int l = 0; l < k; ++l)
          expected[i * 8 + j] += Sum(a[i * k + l] * b[l * 8 + j]);
    auto narrowed = [&](const std::vector<float> &values, Bits (*narrow)(float)) {
      std::vector<Bits> result;
      for (float value : values)
        result.push_back(narrow(value));
      return memory.copyOf(result);
    };
    Sum *device = memory.copyOf(d);
    Report report = tensorKernels().run(kernel, {.block = 32},
                                        {narrowed(a, narrowA), narrowed(b, narrowB), device});
    EXPECT_TRUE(report.clean()) << report;
    EXPECT_EQ(memory.values(device, d.size()), expected);
  }
};

TEST_F(TensorTest, ProductsOfBf16) { expectProduct("product_bf16", floatToBf16); }
TEST_F(TensorTest, ProductsOfF16) { expectProduct("product_f16", floatToF16); }

TEST_F(TensorTest, ProductsOfBytes) {
  expectProduct<int8_t, int>("product_s8", [](float value) { return int8_t(value); });
}
TEST_F(TensorTest, ProductsOfFp8) {
  expectProduct("product_e4m3", floatToE4M3);
  expectProduct("product_e5m2_e4m3", floatToE5M2, floatToE4M3, 4);
  expectProduct("product_e4m3_e5m2", floatToE4M3, floatToE5M2, 4);
}

TEST_F(TensorTest, LdmatrixDealsRowsAndColumns) {
  std::vector<uint16_t> in(256);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint16_t(i * 7 + 1);
  unsigned *out = memory.array<unsigned>(32 * 14);
  Report report = tensorKernels().run("loads", {.block = 32}, {memory.copyOf(in), out});
  EXPECT_TRUE(report.clean()) << report;
  auto got = memory.values(out, 32 * 14);
  // PTX ISA, "ldmatrix": thread t has elements (t / 4, 2 (t % 4)) and the next of its row.
  auto element = [&](int matrix, int row, int column) {
    return unsigned(in[size_t(matrix * 64 + row * 8 + column)]);
  };
  for (int lane = 0; lane < 32; ++lane) {
    int row = lane / 4, column = 2 * (lane % 4);
    auto plain = [&](int m) { return element(m, row, column) | element(m, row, column + 1) << 16; };
    auto transposed = [&](int m) {
      return element(m, column, row) | element(m, column + 1, row) << 16;
    };
    std::vector<unsigned> expected = {plain(0),      plain(0),      plain(1),      plain(0),
                                      plain(1),      plain(2),      plain(3),      transposed(0),
                                      transposed(0), transposed(1), transposed(0), transposed(1),
                                      transposed(2), transposed(3)};
    EXPECT_EQ(std::vector<unsigned>(got.begin() + lane * 14, got.begin() + (lane + 1) * 14),
              expected)
        << "lane " << lane;
  }
}

TEST_F(TensorTest, FindsDefectsOfLdmatrix) {
  unsigned *out = memory.array<unsigned>(32);
  EXPECT_TRUE(tensorKernels().run("load_right", {.block = 32}, {out}).clean());
  EXPECT_TRUE(finds(tensorKernels().run("load_misaligned", {.block = 32}, {out}),
                    Defect::Misaligned, {"16 bytes", "tensor.cu:77 (load_row<4, true>)"}));
  for (Schedule schedule : schedules())
    EXPECT_TRUE(
        finds(tensorKernels().run("load_racing", {.block = 32, .schedule = schedule}, {out}),
              Defect::Race, {"static shared byte", "tensor.cu:77"}));
}

TEST_F(TensorTest, FindsAProductThatLacksLanes) {
  float *out = memory.array<float>(16);
  EXPECT_TRUE(finds(tensorKernels().run("half_a_warp", {.block = 16}, {out}), Defect::Divergence,
                    {"all 32 lanes", "half_a_warp"}));
}

} // namespace
