//===- AgreementTest.cpp - The emulator against a device ------------------===//
//
// The emulator's idea of matrix instructions, asynchronous copies, shuffles and roundings comes
// from documents. Here the same kernels run in it, linked in, and on a GPU, compiled by NVRTC; and
// must give the same bits. Where there is no GPU a fake one takes its place, which shows that the
// test itself works and that linked and loaded kernels agree.
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/CudaContext.h"
#include "runtime/Device/Cuda/CudaPool.h"
#include "runtime/Device/Cuda/Nvrtc.h"
#include "test/cuda/AgreementSources.h"
#include "test/cuda/FakeCuda.h"
#include "test/simt/DeviceMemory.h"
#include "test/simt/Program.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace sinter;
using namespace sinter::fake;
using namespace sinter::runtime;

extern "C" {
using Agreement = void(const unsigned *in, unsigned *out);
Agreement agree_bf16, agree_f16, agree_s8, agree_e4m3, agree_groups_bf16, agree_groups_f16,
    agree_copies, agree_lanes, agree_roundings, agree_extremes, agree_words, agree_sums,
    agree_blocks, agree_functions;
}

namespace {

using Words = std::vector<unsigned>;

cuda::CudaSource source() {
  return {"agreement.cu",
          agreementKernels,
          {},
          {{"device.cuh", deviceHeader},
           {"matrices.cuh", matricesHeader},
           {"warpgroup.cuh", warpgroupHeader}}};
}

class AgreementTest : public ::testing::Test {
protected:
  static constexpr size_t inputs = 1024, outputs = 4096;

  static void SetUpTestSuite() {
    context = open();
    if (!context) {
      reason = simt::Program::whyNot();
      if (!reason.empty())
        return;
      fake = std::make_unique<FakeCuda>(FakeOptions{.cache = SINTER_FAKE_CACHE});
      context = open();
    }
    cuda::CudaContext::Current current(*context);
    auto pools = cuda::CudaPool::create(*context);
    auto architecture = cuda::architectureFor(context->getCapability());
    ASSERT_TRUE(pools && architecture);
    pool = std::move(*pools);
    auto code = cuda::compileCuda(source(), *architecture);
    ASSERT_TRUE(code) << code.error().message();
    ASSERT_EQ(context->getApi().cuLibraryLoadData(&library, code->cubin.data(), nullptr, nullptr, 0,
                                                  nullptr, nullptr, 0),
              CUDA_SUCCESS);
  }

  static void TearDownTestSuite() {
    if (library)
      context->getApi().cuLibraryUnload(library);
    library = nullptr;
    pool = nullptr;
    context = nullptr;
    fake = nullptr;
  }

  void SetUp() override {
    if (!reason.empty())
      GTEST_SKIP() << reason;
    RecordProperty("device", context->getName());
  }

  static std::unique_ptr<cuda::CudaContext> open() {
    auto opened = cuda::CudaContext::open();
    return opened ? std::move(*opened) : nullptr;
  }

  Words emulated(const char *name, Agreement *kernel, const simt::Launch &shape, const Words &in) {
    simt::DeviceMemory memory;
    void *pointers[] = {memory.copyOf(in), memory.copyOf(Words(outputs))};
    simt::Report report = simt::launch(simt::Kernel(name, kernel), shape, pointers);
    EXPECT_TRUE(report.clean()) << report;
    return memory.values(static_cast<unsigned *>(pointers[1]), outputs);
  }

  Words onDevice(const char *name, const simt::Launch &shape, const Words &in) {
    cuda::CudaContext::Current current(*context);
    const cuda::CudaApi &api = context->getApi();
    auto given = pool->allocate(inputs * 4, "a test"),
         target = pool->allocate(outputs * 4, "a test");
    CUkernel kernel = nullptr;
    EXPECT_EQ(api.cuLibraryGetKernel(&kernel, library, name), CUDA_SUCCESS);
    CUdeviceptr addresses[] = {given->getAddress(), target->getAddress()};
    void *arguments[] = {&addresses[0], &addresses[1]};
    Words out(outputs);
    api.cuMemcpyHtoDAsync(addresses[0], in.data(), inputs * 4, context->getStream());
    api.cuMemsetD8Async(addresses[1], 0, outputs * 4, context->getStream());
    EXPECT_EQ(api.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), shape.grid, 1, 1,
                                 shape.block, 1, 1, unsigned(shape.sharedBytes),
                                 context->getStream(), arguments, nullptr),
              CUDA_SUCCESS);
    api.cuMemcpyDtoHAsync(out.data(), addresses[1], outputs * 4, context->getStream());
    auto done = context->wait(name);
    EXPECT_TRUE(done) << done.error().message();
    return out;
  }

  /// Runs the kernel on both with several inputs; `agree` compares each pair of words.
  template <typename Agree>
  void compare(const char *name, Agreement *kernel, const simt::Launch &shape, Agree agree) {
    for (unsigned seed = 0; seed < 4; ++seed) {
      std::mt19937 random(seed);
      Words in(inputs);
      for (unsigned &word : in)
        word = unsigned(random());
      Words expected = emulated(name, kernel, shape, in), got = onDevice(name, shape, in);
      unsigned different = 0;
      for (size_t i = 0; i < outputs; ++i)
        if (!agree(expected[i], got[i]) && ++different <= 4)
          ADD_FAILURE() << "word " << i << " of seed " << seed << ": emulator " << std::hex
                        << expected[i] << ", device " << got[i];
      EXPECT_NE(expected, Words(outputs)) << "the kernel wrote nothing";
    }
  }
  void compareBits(const char *name, Agreement *kernel, const simt::Launch &shape) {
    compare(name, kernel, shape, std::equal_to<unsigned>());
  }

  static inline std::string reason;
  static inline std::unique_ptr<FakeCuda> fake;
  static inline std::unique_ptr<cuda::CudaContext> context;
  static inline std::unique_ptr<cuda::CudaPool> pool;
  static inline CUlibrary library = nullptr;
};

TEST_F(AgreementTest, MatricesOfBf16) { compareBits("agree_bf16", agree_bf16, {.block = 32}); }
TEST_F(AgreementTest, MatricesOfF16) { compareBits("agree_f16", agree_f16, {.block = 32}); }
TEST_F(AgreementTest, MatricesOfBytes) { compareBits("agree_s8", agree_s8, {.block = 32}); }
TEST_F(AgreementTest, MatricesOfE4M3) {
  if (context->getCapability() < cuda::Capability{8, 9})
    GTEST_SKIP() << "products of e4m3 are of compute capability 8.9 and later";
  compareBits("agree_e4m3", agree_e4m3, {.block = 32});
}
// What descriptors, the swizzle and the fragments of a warpgroup mean; a device of another
// architecture has no such products.
TEST_F(AgreementTest, MatricesOfWarpgroups) {
  if (context->getCapability() != cuda::Capability{9, 0})
    GTEST_SKIP() << "products of warpgroups are of compute capability 9.0 alone";
  simt::Launch shape = {.block = 128, .sharedBytes = 896 + 2 * 64 * 64 * 2};
  compareBits("agree_groups_bf16", agree_groups_bf16, shape);
  compareBits("agree_groups_f16", agree_groups_f16, shape);
}
TEST_F(AgreementTest, AsynchronousCopies) {
  compareBits("agree_copies", agree_copies, {.block = 64, .sharedBytes = 2048});
}
TEST_F(AgreementTest, ShufflesAndVotes) { compareBits("agree_lanes", agree_lanes, {.block = 64}); }
TEST_F(AgreementTest, Roundings) {
  compareBits("agree_roundings", agree_roundings, {.block = 256});
}
TEST_F(AgreementTest, Extremes) { compareBits("agree_extremes", agree_extremes, {.block = 64}); }
TEST_F(AgreementTest, RandomWords) { compareBits("agree_words", agree_words, {.block = 64}); }
TEST_F(AgreementTest, Reductions) { compareBits("agree_sums", agree_sums, {.block = 256}); }
TEST_F(AgreementTest, TheLastBlock) {
  compareBits("agree_blocks", agree_blocks, {.grid = 8, .block = 64});
}

// device.cuh promises 2^-21 of one for tanh_fast, which has the largest error.
TEST_F(AgreementTest, ApproximatedFunctions) {
  compare("agree_functions", agree_functions, {.block = 256}, [](unsigned a, unsigned b) {
    float expected = std::bit_cast<float>(a), got = std::bit_cast<float>(b);
    return std::abs(expected - got) <= 0x1p-20f * std::max(1.0f, std::abs(expected));
  });
}

// With NVRTC itself, for which no GPU is needed.
TEST(AgreementKernelsTest, CompileForDevices) {
  if (auto version = cuda::nvrtcVersion(); !version)
    GTEST_SKIP() << version.error().message();
  for (const char *architecture : {"sm_80", "sm_90a", "sm_100", "sm_120"}) {
    auto code = cuda::compileCuda(source(), architecture);
    EXPECT_TRUE(code) << code.error().message();
  }
}

} // namespace
