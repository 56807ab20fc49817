//===- ProgramTest.cpp - Compiling and loading kernels --------------------===//
#include "test/simt/TestKernels.h"

#include <algorithm>
#include <fstream>
#include <unistd.h>

using namespace sinter;
using namespace sinter::simt;
namespace fs = std::filesystem;

namespace {

class ProgramTest : public KernelTest {
protected:
  void SetUp() override {
    KernelTest::SetUp();
    folder = fs::path(testing::TempDir()) / ("simt-program-test-" + std::to_string(getpid()));
    fs::remove_all(folder);
    fs::create_directories(folder / "include");
    options.cache = folder / "cache";
    options.name = "some.cu";
  }
  void TearDown() override { fs::remove_all(folder); }

  /// The files of the cache that end like this.
  ptrdiff_t count(const std::string &extension) const {
    auto matches = [&](const auto &entry) { return entry.path().extension() == extension; };
    return std::count_if(fs::directory_iterator(options.cache), fs::directory_iterator(), matches);
  }
  void write(const std::string &header, const std::string &text) {
    std::ofstream(folder / "include" / header) << text;
  }

  fs::path folder;
  CompileOptions options;
};

constexpr auto add = "extern \"C\" __global__ void add(float *x) { x[threadIdx.x] += AMOUNT; }";

TEST_F(ProgramTest, CompilesOnceForEachSourceAndSetOfOptions) {
  options.defines = {"AMOUNT=1"};
  ASSERT_TRUE(Program::compile(add, options));
  ASSERT_TRUE(Program::compile(add, options));
  EXPECT_EQ(count(".so"), 1);
  options.defines = {"AMOUNT=2"};
  ASSERT_TRUE(Program::compile(add, options));
  EXPECT_EQ(count(".so"), 2);
  EXPECT_EQ(count(".pch"), 1);
}

TEST_F(ProgramTest, AChangedHeaderIsCompiledAgain) {
  options.includes = {folder / "include"};
  std::string source = std::string("#include \"amount.cuh\"\n") + add;
  std::vector<float> expected = {1, 3};
  float *x = memory.copyOf(std::vector<float>{0});
  for (int i = 0; i < 2; ++i) {
    write("amount.cuh", "#define AMOUNT " + std::to_string(i + 1));
    auto program = Program::compile(source, options);
    ASSERT_TRUE(program) << program.error().message();
    void *pointers[] = {x};
    EXPECT_TRUE(launch(*program->kernel("add"), {}, pointers).clean());
    EXPECT_EQ(memory.values(x, 1)[0], expected[size_t(i)]);
  }
}

TEST_F(ProgramTest, AnErrorOfTheSourceIsOneLine) {
  auto program = Program::compile("\n__global__ void f() { undeclared(); }", options);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().what, "some.cu");
  EXPECT_NE(program.error().why.find("some.cu:2:"), std::string::npos) << program.error().why;
  EXPECT_NE(program.error().why.find("undeclared"), std::string::npos);
  EXPECT_EQ(program.error().why.find('\n'), std::string::npos);
}

TEST_F(ProgramTest, AKernelThatIsNotThereIsAnError) {
  options.defines = {"AMOUNT=1"};
  auto program = Program::compile(add, options);
  ASSERT_TRUE(program);
  auto kernel = program->kernel("subtract");
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().what, "subtract");
}

TEST_F(ProgramTest, WhatIsNoObjectIsAnError) {
  write("no.so", "not an object");
  EXPECT_FALSE(Program::load(folder / "include" / "no.so"));
}

// The names that CUDA C++ has without any header.
TEST_F(ProgramTest, CudaNamesAreThere) {
  auto program = Program::compile(R"(
    extern "C" __global__ void __launch_bounds__(32, 2) names(const float *__restrict__ in, float *out) {
      __shared__ __align__(16) float box[4];
      float x = __ldg(in);
      out[0] = rsqrtf(x) + __expf(x) + __logf(x) + fmaxf(x, fminf(x, 2.0f)) + fmaf(x, x, x) + erff(x);
      out[1] = tanhf(x) + __fdividef(x, 2.0f) + __frcp_rn(x) + floorf(x) + exp2f(x) + __saturatef(x);
      out[2] = __uint_as_float(__float_as_uint(x)) + max(1, 2) + min(3u, 4u) + max(x, 2.0f) + isnan(x);
      out[3] = __popc(7u) + __clz(1) + __ffs(8) + __umulhi(1u << 31, 4u) + __byte_perm(1, 2, 0x5410);
      __nv_bfloat162 pair = __floats2bfloat162_rn(x, x);
      __half2 halves = __floats2half2_rn(x, x);
      uint4 v = make_uint4(1, 2, 3, 4);
      box[0] = __bfloat162float(pair.x) + __half2float(halves.y) + v.w;
      __threadfence_block();
      out[4] = box[0] + float(__float2bfloat16(x)) + warpSize + gridDim.x;
      atomicMax(reinterpret_cast<int *>(out + 5), 3);
      atomicCAS(reinterpret_cast<unsigned *>(out + 6), 0u, 1u);
    })",
                                  options);
  ASSERT_TRUE(program) << program.error().message();
  float *in = memory.copyOf(std::vector<float>{1.0f}), *out = memory.copyOf(std::vector<float>(8));
  void *pointers[] = {in, out};
  EXPECT_TRUE(launch(*program->kernel("names"), {}, pointers).clean());
  auto values = memory.values(out, 8);
  EXPECT_NEAR(values[0], 1 + 2.718282 + 0 + 1 + 2 + 0.842701, 1e-5);
  EXPECT_EQ(values[3], 3 + 31 + 4 + 2 + 0x20001);
  EXPECT_EQ(values[4], 6 + 1 + 32 + 1);
}

} // namespace
