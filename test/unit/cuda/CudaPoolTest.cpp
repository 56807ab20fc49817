#include "runtime/Device/Cuda/CudaPool.h"
#include "runtime/Device/Cuda/CudaTransfer.h"
#include "test/cuda/FakeCuda.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace sinter::runtime;
using namespace sinter::runtime::cuda;
using sinter::fake::FakeCuda;
using sinter::fake::FakeOptions;

namespace {

class CudaPoolTest : public ::testing::Test {
protected:
  CudaPoolTest() : context(std::move(*CudaContext::open())), current(*context) {}

  FakeCuda gpu{[] {
    FakeOptions options;
    options.memoryBytes = size_t(1) << 30;
    return options;
  }()};
  std::unique_ptr<CudaContext> context;
  CudaContext::Current current;
};

TEST_F(CudaPoolTest, CountsWhatItGives) {
  auto pool = std::move(*CudaPool::create(*context));
  {
    DeviceMemory first = std::move(*pool->allocate(1000, "first"));
    EXPECT_NE(first.getAddress(), 0u);
    EXPECT_EQ(first.getBytes(), 1000u);
    DeviceMemory second = std::move(*pool->allocate(500, "second"));
    EXPECT_EQ(pool->getStatistics().used, 1500u);
    second = DeviceMemory(std::move(*pool->allocate(300, "third")));
    ASSERT_TRUE(context->wait("the stream"));
    EXPECT_EQ(pool->getStatistics().used, 1300u);
  }
  // What is given back stays in the pool until it is trimmed.
  ASSERT_TRUE(context->wait("the stream"));
  EXPECT_EQ(pool->getStatistics().used, 0u);
  EXPECT_EQ(pool->getStatistics().usedHigh, 1800u);
  EXPECT_EQ(pool->getStatistics().reserved, 1800u);
  pool->trim();
  EXPECT_EQ(pool->getStatistics().reserved, 0u);
  EXPECT_EQ(pool->getStatistics().reservedHigh, 1800u);
}

TEST_F(CudaPoolTest, NothingIsNothing) {
  auto pool = std::move(*CudaPool::create(*context));
  EXPECT_EQ(pool->allocate(0, "nobody")->getAddress(), 0u);
  EXPECT_TRUE(PinnedMemory::allocate(*context, 0, "nobody")->getBytes().empty());
  EXPECT_EQ(gpu.calls("cuMemAllocFromPoolAsync") + gpu.calls("cuMemHostAlloc"), 0u);
}

TEST_F(CudaPoolTest, ErrorsNameTheOwner) {
  auto pool = std::move(*CudaPool::create(*context));
  auto memory = pool->allocate(uint64_t(2) << 30, "caches");
  ASSERT_FALSE(memory);
  EXPECT_EQ(
      memory.error().message(),
      "2147483648 bytes of Fake GPU for caches: CUDA_ERROR_OUT_OF_MEMORY (out of memory); use "
      "a smaller model, batch, sequence or type, or end what else runs on the GPU");
  gpu.failCall("cuMemHostAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  auto pinned = PinnedMemory::allocate(*context, 64, "inputs");
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().what, "64 bytes of pinned memory for inputs");
}

TEST_F(CudaPoolTest, PinnedMemoryIsZeroed) {
  PinnedMemory memory = std::move(*PinnedMemory::allocate(*context, 100, "inputs"));
  for (std::byte byte : memory.getBytes())
    EXPECT_EQ(byte, std::byte{0});
}

// Copies of any size, mixed in both directions, use the same two buffers and keep their order.
TEST_F(CudaPoolTest, TransfersKeepTheirOrder) {
  ThreadPool threads(2);
  auto pool = std::move(*CudaPool::create(*context));
  auto transfer = std::move(*CudaTransfer::create(*context, threads));
  constexpr size_t most = (80 << 20) + 12;
  DeviceMemory memory = std::move(*pool->allocate(most, "all"));
  std::vector<std::byte> sent(most), received(most);
  uint32_t number = 1;
  for (size_t bytes : {size_t(0), size_t(1), size_t(100), most, size_t(16) << 20, most}) {
    for (size_t i = 0; i < bytes; i += 97)
      sent[i] = std::byte(uint8_t((number = number * 1664525 + 1013904223) >> 24));
    std::vector<std::byte> expected(sent.begin(), sent.begin() + ptrdiff_t(bytes));
    ASSERT_TRUE(transfer->upload(std::span(sent).first(bytes), memory.getAddress()));
    std::fill(sent.begin(), sent.begin() + ptrdiff_t(bytes), std::byte{0xcc});
    ASSERT_TRUE(transfer->download(memory.getAddress(), std::span(received).first(bytes)));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), received.begin())) << bytes;
  }
}

} // namespace
