//===- LinkedKernelsTest.cpp - Kernels that are linked into the test ------===//
#include "test/simt/TestKernels.h"

#include <numeric>

using namespace sinter::simt;

extern "C" {
void reverseRight(const float *in, float *out);
void reverseRacing(const float *in, float *out);
}

namespace {

TEST(LinkedKernelsTest, RunAsThoseThatAreLoaded) {
  DeviceMemory memory;
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 0.0f);
  void *pointers[] = {memory.copyOf(values), memory.array<float>(64)};
  Report report = launch(Kernel("reverseRight", reverseRight), {.block = 64}, pointers);
  EXPECT_TRUE(report.clean()) << report;
  EXPECT_EQ(memory.values(static_cast<float *>(pointers[1]), 64)[1], 62);
}

TEST(LinkedKernelsTest, HaveTheirDefectsFound) {
  DeviceMemory memory;
  std::vector<float> values(64);
  void *pointers[] = {memory.copyOf(values), memory.array<float>(64)};
  Report report = launch(Kernel("reverseRacing", reverseRacing), {.block = 64}, pointers);
  EXPECT_TRUE(finds(report, Defect::Race, {"static shared byte", "LinkedKernels.cpp:"}));
}

} // namespace
