//===- FakeNvrtcTest.cpp - A compiler for the emulator --------------------===//
#include "test/cuda/TestGpu.h"

#include "test/cuda/FakeCubin.h"

using namespace sinter;
using namespace sinter::fake;

namespace {

class FakeNvrtcTest : public FakeGpuTest {};

TEST_F(FakeNvrtcTest, HeadersMayComeInMemory) {
  runtime::cuda::CudaSource source{
      "test.cu",
      "#include \"amount.cuh\"\n#include <cuda_bf16.h>\n"
      "extern \"C\" __global__ void set(float *x) { x[0] = AMOUNT + MORE; }",
      {"-DMORE=3"},
      {{"amount.cuh", "#define AMOUNT 4"}, {"cuda_bf16.h", "#error not this one"}}};
  auto code = runtime::cuda::compileCuda(source, "sm_90");
  ASSERT_TRUE(code) << code.error().message();
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_EQ(api->cuLibraryLoadData(&library, code->cubin.data(), nullptr, nullptr, 0, nullptr,
                                   nullptr, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(api->cuLibraryGetKernel(&kernel, library, "set"), CUDA_SUCCESS);
  CUdeviceptr x = newMemory(4);
  EXPECT_EQ(launch(reinterpret_cast<CUfunction>(kernel), 1, 1, {x}), CUDA_SUCCESS);
  EXPECT_EQ(read(x, 1)[0], 7);
}

TEST_F(FakeNvrtcTest, ErrorsAreTheCompilers) {
  auto code = compile("extern \"C\" __global__ void wrong(float *x) { *x = missing; }");
  ASSERT_FALSE(code);
  EXPECT_NE(code.error().message().find("test.cu:1:"), std::string::npos) << code.error().message();
  EXPECT_NE(code.error().message().find("missing"), std::string::npos);
  EXPECT_FALSE(compile("", "compute_90"));
}

TEST_F(FakeNvrtcTest, ItsVersionIsItsOwn) {
  auto fast = runtime::cuda::nvrtcVersion();
  ASSERT_TRUE(fast);
  open({.checked = true});
  auto checked = runtime::cuda::nvrtcVersion();
  ASSERT_TRUE(checked);
  EXPECT_NE(*fast, *checked);
}

TEST_F(FakeNvrtcTest, ItFailsWhenItIsTold) {
  fake->failCall("nvrtcCompileProgram", 5);
  EXPECT_FALSE(compile("extern \"C\" __global__ void f(float *x) { *x = 1; }"));
  EXPECT_TRUE(compile("extern \"C\" __global__ void f(float *x) { *x = 1; }"));
}

TEST(FakeCubinTest, IsReadAsItWasWritten) {
  FakeCubin cubin{"sm_80", {std::byte(1), std::byte(2)}};
  std::vector<std::byte> bytes = writeCubin(cubin);
  auto back = readCubin(bytes.data());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->architecture, "sm_80");
  EXPECT_EQ(back->object, cubin.object);
}

TEST(FakeCubinTest, RunsOnWhatItIsFor) {
  EXPECT_TRUE(runsOn("sm_80", 8, 9));
  EXPECT_FALSE(runsOn("sm_89", 8, 0));
  EXPECT_FALSE(runsOn("sm_80", 9, 0));
  EXPECT_TRUE(runsOn("sm_90a", 9, 0));
  EXPECT_TRUE(runsOn("sm_120", 12, 0));
  EXPECT_FALSE(runsOn("sm_120", 1, 20));
  EXPECT_FALSE(runsOn("compute_90", 9, 0));
}

} // namespace
