#include "test/cuda/DeviceProgram.h"
#include "test/cuda/TestGpu.h"

using namespace sinter;
using namespace sinter::test;

namespace {

class DeviceProgramTest : public fake::FakeGpuTest {};

TEST_F(DeviceProgramTest, RunsAKernelOnCopies) {
  auto program = DeviceProgram::compile({"scale.cu",
                                         R"(
      extern "C" __global__ void scale(const float *x, float *y) {
        y[blockIdx.x * 4 + threadIdx.x] += 2 * x[blockIdx.x * 4 + threadIdx.x];
      })",
                                         {},
                                         {}});
  ASSERT_TRUE(program) << program.error().message();
  std::vector<float> x(8), y(8, 1);
  std::iota(x.begin(), x.end(), 0.0f);
  std::vector<std::span<std::byte>> memory = {std::as_writable_bytes(std::span(x)),
                                              std::as_writable_bytes(std::span(y))};
  Expected<void> run = (*program)->run("scale", 2, 4, 0, memory);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(y, (std::vector<float>{1, 3, 5, 7, 9, 11, 13, 15}));
  // One piece of memory under two names.
  memory[1] = memory[0];
  ASSERT_TRUE((*program)->run("scale", 2, 4, 0, memory));
  EXPECT_EQ(x, (std::vector<float>{0, 3, 6, 9, 12, 15, 18, 21}));
}

TEST_F(DeviceProgramTest, SaysWhatIsWrong) {
  EXPECT_FALSE(DeviceProgram::compile({"bad.cu", "this is no kernel", {}, {}}));
  auto program = DeviceProgram::compile(
      {"one.cu", "extern \"C\" __global__ void one(float *y) { *y = 1; }", {}, {}});
  ASSERT_TRUE(program);
  float y = 0;
  std::span<std::byte> memory[] = {std::as_writable_bytes(std::span(&y, 1))};
  EXPECT_FALSE((*program)->run("two", 1, 1, 0, memory));
}

} // namespace
