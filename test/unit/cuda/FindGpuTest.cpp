#include "runtime/Device/Cuda/FindGpu.h"
#include "test/cuda/FakeCuda.h"
#include "gtest/gtest.h"

using namespace sinter;
using namespace sinter::runtime::cuda;

namespace {

TEST(FindGpuTest, DescribesTheFirstOne) {
  fake::FakeCuda fake({.devices = 2, .driverVersion = 12040, .major = 8, .minor = 6});
  Expected<GpuInfo> gpu = findGpu();
  ASSERT_TRUE(gpu) << gpu.error().message();
  EXPECT_EQ(gpu->name, "Fake GPU");
  EXPECT_EQ(gpu->capability.toString(), "8.6");
  EXPECT_EQ(gpu->driverVersion, 12040);
  EXPECT_GT(gpu->multiprocessors, 0);
  EXPECT_EQ(*targetFor(gpu->capability), "cuda:sm_80");
  EXPECT_EQ(*targetFor({9, 0}), "cuda:sm_90");
  EXPECT_FALSE(targetFor({7, 5}));
}

TEST(FindGpuTest, SaysWhyThereIsNone) {
  {
    fake::FakeCuda fake({.devices = 0});
    EXPECT_NE(findGpu().error().message().find("the NVIDIA driver finds none"), std::string::npos);
  }
  fake::FakeCuda fake({.driverVersion = 11080});
  EXPECT_NE(findGpu().error().message().find("it is for CUDA 11.8, Sinter needs 12.0"),
            std::string::npos);
}

} // namespace
