// device.cuh as the emulator runs it. What is PTX there, NvrtcTests compile.
#include "dialects/Sinter/Philox.h"
#include "runtime/Base/HalfFloat.h"
#include "test/kernels/KernelHarness.h"
#include "test/simt/DeviceMemory.h"

#include <gtest/gtest.h>
#include <limits>

using namespace sinter;
using namespace sinter::kernels;

static constexpr const char *kSource = R"(
#include "device.cuh"
using namespace sinter;

extern "C" __global__ void __launch_bounds__(64) random_words(const unsigned *counters, unsigned *out) {
  const unsigned *c = counters + 6 * threadIdx.x;
  uint4 words = philox(make_uint4(c[0], c[1], c[2], c[3]), make_uint2(c[4], c[5]));
  store(out + 4 * threadIdx.x, Vector<unsigned, 4>{{words.x, words.y, words.z, words.w}});
}

extern "C" __global__ void __launch_bounds__(64) kept(const unsigned *numbers, unsigned *out) {
  const unsigned *n = numbers + 5 * threadIdx.x;
  unsigned long long index = static_cast<unsigned long long>(n[1]) << 32 | n[0];
  out[threadIdx.x] = is_kept(index, n[2], make_uint2(n[3], n[4]), dropout_threshold(0.3));
}

extern "C" __global__ void __launch_bounds__(64) rounded(const float *values, const unsigned *numbers, float *out) {
  const unsigned *n = numbers + 6 * threadIdx.x;
  unsigned long long index = static_cast<unsigned long long>(n[1]) << 32 | n[0];
  out[threadIdx.x] = stochastic_round(values[threadIdx.x], index, make_uint2(n[2], n[3]), make_uint2(n[4], n[5]));
}

extern "C" __global__ void __launch_bounds__(64) extremes(const float *a, const float *b, float *out) {
  float x = a[threadIdx.x], y = b[threadIdx.x];
  store(out + 4 * threadIdx.x,
        Vector<float, 4>{{maximum(x, y), minimum(x, y), maxnum(x, y), minnum(x, y)}});
}

extern "C" __global__ void __launch_bounds__(64)
    extremes64(const double *a, const double *b, double *out) {
  double x = a[threadIdx.x], y = b[threadIdx.x];
  store(out + 4 * threadIdx.x,
        Vector<double, 4>{{maximum(x, y), minimum(x, y), maxnum(x, y), minnum(x, y)}});
}

extern "C" __global__ void __launch_bounds__(64)
    round_elements(const float *from, __nv_bfloat16 *bf16, __half *f16, unsigned *packed) {
  float x = from[threadIdx.x];
  bf16[threadIdx.x] = from_float<__nv_bfloat16>(x);
  f16[threadIdx.x] = from_float<__half>(x);
  packed[threadIdx.x] = pack<__half>(x, -x);
}

extern "C" __global__ void __launch_bounds__(1)
    round_once(const double *from, __nv_bfloat16 *bf16, __half *f16) {
  *bf16 = convert<__nv_bfloat16>(from[0]);
  *f16 = convert<__half>(from[1]);
}

template <int THREADS> SINTER_DEVICE void reduce(const float *from, float *out) {
  float x = from[threadIdx.x];
  // One after another, through the same memory.
  float sum = block_reduce_sum<THREADS>(x), largest = block_reduce_max<THREADS>(x);
  double square = block_reduce_sum<THREADS>(static_cast<double>(x) * x);
  int most = block_reduce_max<THREADS>(static_cast<int>(threadIdx.x) * 3);
  store(out + 4 * threadIdx.x,
        Vector<float, 4>{{sum, largest, static_cast<float>(square), static_cast<float>(most)}});
}
extern "C" __global__ void __launch_bounds__(32) reduce32(const float *a, float *b) { reduce<32>(a, b); }
extern "C" __global__ void __launch_bounds__(96) reduce96(const float *a, float *b) { reduce<96>(a, b); }
extern "C" __global__ void __launch_bounds__(1024) reduce1024(const float *a, float *b) {
  reduce<1024>(a, b);
}

extern "C" __global__ void __launch_bounds__(32) reduce_groups(const float *from, float *out) {
  out[threadIdx.x] = warp_reduce_sum<8>(from[threadIdx.x]);
}

extern "C" __global__ void __launch_bounds__(64) approximate(const float *from, float *out) {
  float x = from[threadIdx.x];
  float sigmoid = divide_fast(1, 1 + exp_fast(-x));
  store(out + 4 * threadIdx.x, Vector<float, 4>{{exp2_fast(x), tanh_fast(x), exp_fast(x), sigmoid}});
}

extern "C" __global__ void __launch_bounds__(64) move(const float *from, float *out) {
  store(out + 8 * threadIdx.x, load_streaming<float, 8>(from + 8 * threadIdx.x));
}

extern "C" __global__ void __launch_bounds__(64) arrive(unsigned *ticket, float *partial, float *out) {
  partial[64 * blockIdx.x + threadIdx.x] = static_cast<float>(blockIdx.x + 1);
  if (!arrive_last(ticket, gridDim.x))
    return;
  float sum = 0;
  // What the other threads of the other blocks wrote.
  for (int block = 0; block < static_cast<int>(gridDim.x); ++block)
    sum += partial[64 * block + 63 - threadIdx.x];
  out[threadIdx.x] += sum;
}
)";

namespace {
/// The kernels above, with every access to memory looked at.
class DeviceTest : public testing::Test {
protected:
  void SetUp() override {
    SINTER_SKIP_WITHOUT_KERNELS();
    if (test::getKernelPlace() == test::KernelPlace::Device)
      GTEST_SKIP() << "kernels of this test are the emulator's alone";
    simt::CompileOptions options;
    options.checked = true;
    options.name = "device_test.cu";
    options.includes = {SINTER_KERNEL_TEMPLATES};
    options.cache = SINTER_KERNEL_CACHE;
    auto compiled = simt::Program::compile(kSource, options);
    ASSERT_TRUE(compiled) << compiled.error().message();
    program.emplace(std::move(*compiled));
  }

  void run(const char *name, unsigned grid, unsigned block, std::vector<void *> pointers,
           simt::Schedule::Order order = simt::Schedule::Order::Shuffled) {
    auto kernel = program->kernel(name);
    ASSERT_TRUE(kernel) << kernel.error().message();
    simt::Launch launch;
    launch.grid = grid;
    launch.block = block;
    launch.schedule.order = order;
    simt::Report report = simt::launch(*kernel, launch, pointers);
    EXPECT_TRUE(report.clean()) << report.text();
  }

  std::optional<simt::Program> program;
  simt::DeviceMemory device;
  std::mt19937 engine{11};
};
} // namespace

TEST_F(DeviceTest, RandomWordsAreThoseOfTheDialect) {
  std::vector<uint32_t> counters(6 * 64);
  for (uint32_t &word : counters)
    word = engine();
  auto *out = device.array<uint32_t>(4 * 64);
  run("random_words", 1, 64, {device.copyOf(counters), out});
  std::vector<uint32_t> words = device.values(out, 4 * 64);
  for (int i = 0; i < 64; ++i) {
    const uint32_t *c = &counters[6 * i];
    auto expected = philox::generate({c[0], c[1], c[2], c[3]}, {c[4], c[5]});
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), &words[4 * i])) << i;
  }
}

TEST_F(DeviceTest, DropoutKeepsWhatTheDialectKeeps) {
  std::vector<uint32_t> numbers(5 * 64);
  for (uint32_t &number : numbers)
    number = engine();
  auto *out = device.array<uint32_t>(64);
  run("kept", 1, 64, {device.copyOf(numbers), out});
  std::vector<uint32_t> kept = device.values(out, 64);
  for (int i = 0; i < 64; ++i) {
    const uint32_t *n = &numbers[5 * i];
    EXPECT_EQ(kept[i],
              philox::isKept(uint64_t(n[1]) << 32 | n[0], n[2], {n[3], n[4]}, 0.3) ? 1u : 0u);
  }
}

TEST_F(DeviceTest, RoundsAtRandomAsTheDialect) {
  std::vector<uint32_t> numbers(6 * 64);
  for (uint32_t &number : numbers)
    number = engine();
  // Any bits, and those that are no numbers.
  std::vector<float> values(64);
  for (float &value : values)
    value = std::bit_cast<float>(static_cast<uint32_t>(engine()));
  values[0] = NAN, values[1] = -INFINITY, values[2] = std::bit_cast<float>(0x7fffffffu);
  auto *out = device.array<float>(64);
  run("rounded", 1, 64, {device.copyOf(values), device.copyOf(numbers), out});
  std::vector<float> rounded = device.values(out, 64);
  for (int i = 0; i < 64; ++i) {
    const uint32_t *n = &numbers[6 * i];
    float expected = philox::roundStochastically(values[i], uint64_t(n[1]) << 32 | n[0],
                                                 {n[2], n[3]}, {n[4], n[5]});
    EXPECT_EQ(std::bit_cast<uint32_t>(rounded[i]), std::bit_cast<uint32_t>(expected)) << values[i];
  }
}

/// Pairs of values that matter, and what arith says of them: maximumf, minimumf, maxnumf, minnumf.
template <typename T> static std::array<std::vector<T>, 2> makePairs() {
  T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  std::array<std::vector<T>, 2> pairs;
  for (T a : {T(1), T(-2), T(0), T(-0.0), infinity, -infinity, nan, T(3)})
    for (T b : {T(1), T(-2), T(0), T(-0.0), infinity, -infinity, nan, T(3)}) {
      pairs[0].push_back(a);
      pairs[1].push_back(b);
    }
  return pairs;
}

template <typename T>
static void expectExtremes(const std::array<std::vector<T>, 2> &pairs, const std::vector<T> &out) {
  for (size_t i = 0; i < 64; ++i) {
    T a = pairs[0][i], b = pairs[1][i];
    SCOPED_TRACE(testing::Message() << a << " " << b);
    bool isNan = std::isnan(a) || std::isnan(b);
    EXPECT_EQ(std::isnan(out[4 * i]), isNan);
    EXPECT_EQ(std::isnan(out[4 * i + 1]), isNan);
    T number = std::isnan(a) ? b : a, other = std::isnan(b) ? a : b;
    if (!isNan) {
      EXPECT_EQ(out[4 * i], std::max(a, b));
      EXPECT_EQ(out[4 * i + 1], std::min(a, b));
    }
    if (!std::isnan(number)) {
      EXPECT_EQ(out[4 * i + 2], std::max(number, other));
      EXPECT_EQ(out[4 * i + 3], std::min(number, other));
    }
  }
}

TEST_F(DeviceTest, ExtremesFollowTheRulesOfNan) {
  auto pairs = makePairs<float>();
  auto *out = device.array<float>(4 * 64);
  run("extremes", 1, 64, {device.copyOf(pairs[0]), device.copyOf(pairs[1]), out});
  std::vector<float> values = device.values(out, 4 * 64);
  expectExtremes(pairs, values);
  for (size_t i = 0; i < 64; ++i)
    if (pairs[0][i] == 0 && pairs[1][i] == 0) {
      bool one = std::signbit(pairs[0][i]), other = std::signbit(pairs[1][i]);
      EXPECT_EQ(std::signbit(values[4 * i]), one && other);
      EXPECT_EQ(std::signbit(values[4 * i + 1]), one || other);
    }
}

TEST_F(DeviceTest, ExtremesOfDoublesFollowTheRulesOfNan) {
  auto pairs = makePairs<double>();
  auto *out = device.array<double>(4 * 64);
  run("extremes64", 1, 64, {device.copyOf(pairs[0]), device.copyOf(pairs[1]), out});
  expectExtremes(pairs, device.values(out, 4 * 64));
}

TEST_F(DeviceTest, ElementsAreRoundedToNearestEven) {
  std::vector<float> values = {0.0f,          -0.0f,    1.0f,      1.00390625f,
                               1.01171875f,   65519.0f, 65520.0f,  5.9604645e-8f,
                               2.9802322e-8f, 3.4e38f,  HUGE_VALF, -HUGE_VALF};
  while (values.size() < 64) {
    float value = std::bit_cast<float>(static_cast<uint32_t>(engine()));
    if (!std::isnan(value))
      values.push_back(value);
  }
  auto *bf16 = device.array<uint16_t>(64), *f16 = device.array<uint16_t>(64);
  auto *packed = device.array<uint32_t>(64);
  run("round_elements", 1, 64, {device.copyOf(values), bf16, f16, packed});
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(device.values(bf16, 64)[i], floatToBf16(values[i])) << values[i];
    EXPECT_EQ(device.values(f16, 64)[i], floatToF16(values[i])) << values[i];
    EXPECT_EQ(device.values(packed, 64)[i],
              uint32_t(floatToF16(-values[i])) << 16 | floatToF16(values[i]));
  }
}

TEST_F(DeviceTest, DoublesAreRoundedOnce) {
  // Rounded to f32 first, both would become ties and then even.
  std::vector<double> values = {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-11 + 0x1p-40};
  auto *bf16 = device.array<uint16_t>(1), *f16 = device.array<uint16_t>(1);
  run("round_once", 1, 1, {device.copyOf(values), bf16, f16});
  EXPECT_EQ(bf16ToFloat(device.values(bf16, 1)[0]), 1 + 0x1p-7f);
  EXPECT_EQ(f16ToFloat(device.values(f16, 1)[0]), 1 + 0x1p-10f);
}

TEST_F(DeviceTest, BlocksReduceForEveryThread) {
  for (int threads : {32, 96, 1024}) {
    SCOPED_TRACE(threads);
    std::vector<float> values(threads);
    double sum = 0, square = 0, largest = -HUGE_VAL;
    for (float &value : values) {
      value = static_cast<float>(static_cast<int>(engine() % 2001) - 1000);
      sum += value;
      square += double(value) * value;
      largest = std::max<double>(largest, value);
    }
    auto *out = device.array<float>(4 * threads);
    run(("reduce" + std::to_string(threads)).c_str(), 1, threads, {device.copyOf(values), out});
    std::vector<float> found = device.values(out, 4 * threads);
    for (int i = 0; i < threads; ++i) {
      EXPECT_EQ(found[4 * i], sum);
      EXPECT_EQ(found[4 * i + 1], largest);
      EXPECT_EQ(found[4 * i + 2], static_cast<float>(square));
      EXPECT_EQ(found[4 * i + 3], 3 * (threads - 1));
    }
  }
}

TEST_F(DeviceTest, GroupsOfLanesReduce) {
  std::vector<float> values(32);
  for (int i = 0; i < 32; ++i)
    values[i] = static_cast<float>(1 << (i % 16));
  auto *out = device.array<float>(32);
  run("reduce_groups", 1, 32, {device.copyOf(values), out});
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(device.values(out, 32)[i], i / 8 % 2 ? 0xff00 : 0xff);
}

TEST_F(DeviceTest, ApproximationsAreGoodEnough) {
  std::vector<float> values(64);
  for (int i = 0; i < 64; ++i)
    values[i] = (i - 32) * 0.37f;
  values[0] = -HUGE_VALF;
  values[1] = 200;
  auto *out = device.array<float>(4 * 64);
  run("approximate", 1, 64, {device.copyOf(values), out});
  std::vector<float> found = device.values(out, 4 * 64);
  EXPECT_EQ(std::vector<float>(found.begin(), found.begin() + 8),
            (std::vector<float>{0, -1, 0, 0, HUGE_VALF, 1, HUGE_VALF, 1}));
  for (int i = 2; i < 64; ++i) {
    const double x = values[i];
    EXPECT_NEAR(found[4 * i] / std::exp2(x), 1, 1e-6) << x;
    EXPECT_NEAR(found[4 * i + 1], std::tanh(x), 1e-6) << x;
    EXPECT_NEAR(found[4 * i + 2] / std::exp(x), 1, 2e-6) << x;
    EXPECT_NEAR(found[4 * i + 3] * (1 + std::exp(-x)), 1, 2e-6) << x;
  }
}

TEST_F(DeviceTest, VectorsMove) {
  std::vector<float> values(8 * 64);
  for (float &value : values)
    value = static_cast<float>(engine());
  auto *out = device.array<float>(values.size());
  run("move", 1, 64, {device.copyOf(values), out});
  EXPECT_EQ(device.values(out, values.size()), values);
}

TEST_F(DeviceTest, OneBlockArrivesLast) {
  std::vector<uint32_t> zero(1);
  auto *ticket = device.copyOf(zero);
  auto *partial = device.array<float>(5 * 64);
  auto *out = device.copyOf(std::vector<float>(64));
  for (auto order : {simt::Schedule::Order::Forward, simt::Schedule::Order::Reverse,
                     simt::Schedule::Order::Shuffled})
    run("arrive", 5, 64, {ticket, partial, out}, order);
  // Once in each of the three launches.
  EXPECT_EQ(device.values(out, 64), std::vector<float>(64, 3 * 15));
  EXPECT_EQ(device.values(ticket, 1), zero);
}
