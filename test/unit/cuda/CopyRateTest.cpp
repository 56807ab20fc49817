#include "tools/bench/CopyRate.h"
#include "test/cuda/TestGpu.h"

using namespace sinter;

namespace {
using CopyRateTest = fake::FakeGpuTest;

TEST_F(CopyRateTest, CopiesWhatFitsAndLeavesNothingBehind) {
  Expected<bench::CopyRate> rate = bench::measureCopyRate();
  ASSERT_TRUE(rate) << rate.error().message();
  EXPECT_FALSE(rate->device.empty());
  EXPECT_GT(rate->bytesPerSecond, 0);
  EXPECT_TRUE(fake->complaints().empty());
}
} // namespace
