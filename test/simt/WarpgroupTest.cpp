//===- WarpgroupTest.cpp - Products of warpgroups (wgmma) -----------------===//
#include "test/simt/MatrixDescriptor.h"
#include "test/simt/TestKernels.h"

#include "runtime/Base/HalfFloat.h"

#include <random>
#include <set>

using namespace sinter;
using namespace sinter::simt;

namespace {

// One warpgroup: d = a b^T from two tiles [64, 64] in shared memory, then d += (its columns 0 to 63
// as fragments) b. The defects are those of kernels that mean to do the same. Tiles are written
// element by element from the PTX ISA's picture of a swizzle of 128 bytes.
constexpr auto warpgroupSource = R"(
using namespace sinter::simt;
enum Defect {
  None, NoBarrier, NoProxyFence, LateProxyFence, NoFence, NoFragmentFence, ChangedAfterFence, ReadEarly,
  WriteEarly, FragmentWrittenEarly, WaitsForTheFirst, NoWait, OverwrittenEarly, OverwrittenUnordered,
  RowMissing, TileMisaligned, NoSwizzle, OddBits, BeyondMemory, OtherMatrix, WarpMissing
};
struct Tiles {
  char *a, *b;
};
template <class T> __device__ void put(char *tile, int row, int column, T value) {
  int chunk = column / 8 ^ row % 8;
  *(T *)(tile + row * 128 + chunk * 16 + column % 8 * 2) = value;
}
__device__ unsigned long long matrix(const char *tile) {
  return (unsigned long long)(sharedAddress(tile) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
template <class T> __device__ unsigned pack(float low, float high) {
  T pair[2];
  if constexpr (sizeof(pair[0]) == 2 && __is_same(T, __half)) {
    pair[0] = __float2half_rn(low); pair[1] = __float2half_rn(high);
  } else {
    pair[0] = __float2bfloat16_rn(low); pair[1] = __float2bfloat16_rn(high);
  }
  unsigned word;
  __builtin_memcpy(&word, pair, 4);
  return word;
}
template <class T, Defect defect> __device__ void products(const T *a, const T *b, float *out) {
  constexpr bool isF16 = __is_same(T, __half);
  char *memory = (char *)dynamicShared();
  memory += -sharedAddress(memory) % 1024 + (defect == TileMisaligned ? 128 : 0);
  Tiles tiles = {memory, memory + 8192};
  int t = threadIdx.x, lane = t % 32;
  for (int i = t; i < 64 * 64; i += 128) {
    if (defect == RowMissing && i / 64 == 63)
      continue;
    put(tiles.a, i / 64, i % 64, a[i]);
    put(tiles.b, i / 64, i % 64, b[i]);
  }
  if (defect != NoProxyFence && defect != LateProxyFence)
    fenceProxyAsync();
  if (defect != NoBarrier)
    __syncthreads();
  if (defect == LateProxyFence && t >= 64)
    fenceProxyAsync();
  float d[32] = {};
  unsigned fragment[4][4];
  wgmmaFence();
  if (defect != NoFence)
    wgmmaFenceRegisters(d, sizeof(d));
  if (defect == ChangedAfterFence)
    d[t % 32] = 1;
  for (int k = 0; k < 4; ++k) {
    unsigned long long left = matrix(tiles.a + k * 32), right = matrix(tiles.b + k * 32);
    if (defect == NoSwizzle)
      left ^= 1ull << 62;
    if (defect == OddBits)
      right |= 1ull << 49;
    if (defect == BeyondMemory)
      right += 8192 / 16 * 2;
    if (defect == OtherMatrix && t / 32 == 2)
      right = matrix(tiles.a + k * 32);
    wgmmaM64N64K16(d, left, right, k > 0, isF16);
  }
  wgmmaCommit();
  if (defect == ReadEarly)
    out[t] = d[5];
  if (defect == WriteEarly)
    d[5] = 3;
  if (defect == OverwrittenEarly)
    put(tiles.b, t / 2, t % 2, a[t]);
  if (defect == WarpMissing && t / 32 == 1) {
    __syncwarp();
    return;
  }
  if (defect != NoWait)
    wgmmaWait(0);
  if (defect == OverwrittenUnordered && t == 100)
    put(tiles.b, 9, 9, a[t]);
  if (defect == NoWait)
    return;
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 4; ++i) {
      int j = 2 * k + i / 2;
      fragment[k][i] = pack<T>(d[4 * j + i % 2 * 2] / 64, d[4 * j + i % 2 * 2 + 1] / 64);
    }
  wgmmaFence();
  wgmmaFenceRegisters(d, sizeof(d));
  if (defect != NoFragmentFence)
    wgmmaFenceRegisters(fragment, sizeof(fragment));
  for (int k = 0; k < 4; ++k) {
    wgmmaM64N64K16(d, fragment[k], matrix(tiles.b + k * 16 * 128), isF16);
    wgmmaCommit();
  }
  if (defect == FragmentWrittenEarly)
    fragment[3][t % 4] = 0;
  wgmmaWait(defect == WaitsForTheFirst ? 3 : 0);
  for (int i = 0; i < 32; ++i) {
    int row = t / 32 * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    out[row * 64 + column] = d[i];
  }
}
extern "C" __global__ void runF16(const __half *a, const __half *b, float *out) {
  products<__half, None>(a, b, out);
}
)";

std::string withKernels(std::string text) {
  for (const char *defect : {"None",
                             "NoBarrier",
                             "NoProxyFence",
                             "LateProxyFence",
                             "NoFence",
                             "NoFragmentFence",
                             "ChangedAfterFence",
                             "ReadEarly",
                             "WriteEarly",
                             "FragmentWrittenEarly",
                             "WaitsForTheFirst",
                             "NoWait",
                             "OverwrittenEarly",
                             "OverwrittenUnordered",
                             "RowMissing",
                             "TileMisaligned",
                             "NoSwizzle",
                             "OddBits",
                             "BeyondMemory",
                             "OtherMatrix",
                             "WarpMissing"})
    text += std::string("extern \"C\" __global__ void run") + defect +
            "(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *out) {\n  "
            "products<__nv_bfloat16, " +
            defect + ">(a, b, out);\n}\n";
  return text;
}

const TestKernels &warpgroupKernels() {
  static TestKernels compiled("warpgroup.cu", withKernels(warpgroupSource));
  return compiled;
}

class WarpgroupTest : public KernelTest {
protected:
  static constexpr size_t size = 64 * 64;
  static constexpr Launch shape = {.block = 128, .sharedBytes = 1024 + 2 * 8192};

  /// Small integers, which every format has exactly, and their sums.
  std::vector<float> digits(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> digit(-4, 4);
    std::vector<float> values(size);
    for (float &value : values)
      value = float(digit(random));
    return values;
  }
  uint16_t *narrowed(const std::vector<float> &values, uint16_t (*narrow)(float)) {
    std::vector<uint16_t> result;
    for (float value : values)
      result.push_back(narrow(value));
    return memory.copyOf(result);
  }

  void expectProducts(const char *kernel, const Schedule &schedule, uint16_t (*narrow)(float),
                      float (*widen)(uint16_t)) {
    std::vector<float> a = digits(1), b = digits(2), expected(size);
    std::vector<float> first(size);
    for (size_t i = 0; i < 64; ++i)
      for (size_t j = 0; j < 64; ++j)
        for (size_t k = 0; k < 64; ++k)
          first[i * 64 + j] += a[i * 64 + k] * b[j * 64 + k];
    expected = first;
    for (size_t i = 0; i < 64; ++i)
      for (size_t j = 0; j < 64; ++j)
        for (size_t k = 0; k < 64; ++k)
          expected[i * 64 + j] += widen(narrow(first[i * 64 + k] / 64)) * b[k * 64 + j];
    float *out = memory.array<float>(size);
    Launch launch = shape;
    launch.schedule = schedule;
    Report report =
        warpgroupKernels().run(kernel, launch, {narrowed(a, narrow), narrowed(b, narrow), out});
    EXPECT_TRUE(report.clean()) << report;
    EXPECT_EQ(memory.values(out, size), expected);
  }

  Report planted(const char *kernel) {
    float *out = memory.array<float>(size);
    return warpgroupKernels().run(
        kernel, shape, {narrowed(digits(1), floatToBf16), narrowed(digits(2), floatToBf16), out});
  }
};

TEST_F(WarpgroupTest, ProductsOfRowsAndOfColumns) {
  for (const Schedule &schedule : schedules()) {
    expectProducts("runNone", schedule, floatToBf16, bf16ToFloat);
    expectProducts("runF16", schedule, floatToF16, f16ToFloat);
  }
}

TEST_F(WarpgroupTest, FindsMemoryThatIsNotReady) {
  EXPECT_TRUE(
      finds(planted("runNoBarrier"), Defect::Race, {"nothing that orders", "warpgroup.cu"}));
  EXPECT_TRUE(finds(planted("runNoProxyFence"), Defect::Race, {"no fence.proxy.async"}));
  EXPECT_TRUE(finds(planted("runLateProxyFence"), Defect::Race, {"no fence.proxy.async"}));
  EXPECT_TRUE(finds(planted("runRowMissing"), Defect::Uninitialised, {"dynamic shared byte"}));
}

TEST_F(WarpgroupTest, FindsMemoryThatIsStillRead) {
  EXPECT_TRUE(finds(planted("runOverwrittenEarly"), Defect::MissingWait,
                    {"writes dynamic shared byte", "wgmma that was not waited for reads"}));
  EXPECT_TRUE(finds(planted("runOverwrittenUnordered"), Defect::Race, {"read"}));
}

TEST_F(WarpgroupTest, FindsRegistersThatAreNotReady) {
  EXPECT_TRUE(finds(planted("runNoFence"), Defect::Race, {"accumulators that were not fenced"}));
  EXPECT_TRUE(finds(planted("runNoFragmentFence"), Defect::Race, {"fragment that was not fenced"}));
  EXPECT_TRUE(finds(planted("runChangedAfterFence"), Defect::Race, {"were changed since"}));
}

TEST_F(WarpgroupTest, FindsRegistersThatAreStillUsed) {
  EXPECT_TRUE(finds(planted("runReadEarly"), Defect::MissingWait, {"reads an accumulator"}));
  EXPECT_TRUE(finds(planted("runWriteEarly"), Defect::MissingWait, {"writes an accumulator"}));
  EXPECT_TRUE(finds(planted("runWriteEarly"), Defect::Race, {"has changed accumulators"}));
  EXPECT_TRUE(
      finds(planted("runFragmentWrittenEarly"), Defect::MissingWait, {"writes a fragment"}));
  EXPECT_TRUE(finds(planted("runWaitsForTheFirst"), Defect::MissingWait, {"reads an accumulator"}));
  EXPECT_TRUE(finds(planted("runNoWait"), Defect::MissingWait, {"ends without waiting"}));
}

TEST_F(WarpgroupTest, FindsDescriptorsThatMeanNothing) {
  EXPECT_TRUE(finds(planted("runTileMisaligned"), Defect::InvalidOperand, {"multiples of 1024"}));
  EXPECT_TRUE(finds(planted("runNoSwizzle"), Defect::InvalidOperand, {"another layout"}));
  EXPECT_TRUE(finds(planted("runOddBits"), Defect::InvalidOperand, {"multiples of 1024"}));
  EXPECT_TRUE(finds(planted("runBeyondMemory"), Defect::InvalidOperand, {"beyond"}));
}

TEST_F(WarpgroupTest, FindsWarpsThatDisagree) {
  EXPECT_TRUE(finds(planted("runOtherMatrix"), Defect::Divergence, {"other products"}));
  EXPECT_TRUE(finds(planted("runWarpMissing"), Defect::Deadlock, {"wait of its warpgroup"}));
}

// A tile of rows of 128 bytes has the same bytes read both ways: element (row, column) is (mn, k)
// of one and (k, mn) of the other. Eight rows of one chunk lie in eight groups of banks.
TEST(MatrixDescriptorTest, SwizzlesRows) {
  MatrixDescriptor rows(0x4000 >> 4 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62);
  EXPECT_EQ(rows.whyInvalid(Major::K), "");
  EXPECT_EQ(rows.chunk(Major::K, 0, 0), 0x4000u);
  EXPECT_EQ(rows.chunk(Major::K, 0, 8), 0x4010u);
  EXPECT_EQ(rows.chunk(Major::K, 3, 8), 0x4000u + 3 * 128 + (1 ^ 3) * 16);
  EXPECT_EQ(rows.chunk(Major::K, 21, 0), 0x4000u + 2 * 1024 + 5 * 128 + 5 * 16);
  for (unsigned mn = 0; mn < 64; mn += 8)
    for (unsigned k = 0; k < 16; ++k)
      EXPECT_EQ(rows.chunk(Major::MN, mn, k),
                MatrixDescriptor(0x4000 >> 4 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62)
                    .chunk(Major::K, k, mn));
  std::set<uint32_t> banks;
  for (unsigned mn = 0; mn < 8; ++mn)
    banks.insert(rows.chunk(Major::K, mn, 0) % 128);
  EXPECT_EQ(banks.size(), 8u);
}

TEST(MatrixDescriptorTest, StepsOnByItsOffsets) {
  uint64_t bits =
      0x8000 >> 4 | uint64_t(0x2000 >> 4) << 16 | uint64_t(0x800 >> 4) << 32 | uint64_t(1) << 62;
  MatrixDescriptor matrix(bits);
  EXPECT_EQ(matrix.chunk(Major::K, 8, 0), 0x8800u);
  EXPECT_EQ(matrix.chunk(Major::MN, 0, 8), 0x8800u);
  EXPECT_EQ(matrix.chunk(Major::MN, 64, 0), 0xA000u);
  // 16 columns on, the address is 32 bytes on, and the swizzle that of the place.
  EXPECT_EQ(MatrixDescriptor(bits + 2).chunk(Major::K, 1, 0), 0x8000u + 128 + (2 ^ 1) * 16);
  EXPECT_EQ(MatrixDescriptor(bits + 1).whyInvalid(Major::K), "begins within 16 elements");
  EXPECT_NE(MatrixDescriptor(bits | 1ull << 14).whyInvalid(Major::K), "");
  EXPECT_NE(MatrixDescriptor(bits | 1ull << 60).whyInvalid(Major::K), "");
}

} // namespace
