#include "runtime/Memory/ProcessMemory.h"
#include "runtime/Base/ChildProcess.h"
#include "runtime/Memory/Region.h"
#include <algorithm>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;

namespace {

constexpr uint64_t kMiB = 1 << 20;

// Counted page by page, where readProcessMemory() takes the system's running count.
uint64_t countAnonymous() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Anonymous:"))
      return std::strtoull(line.c_str() + 10, nullptr, 10) * 1024;
  return 0;
}

struct Growth {
  uint64_t counted, said;
};

// What writing to a region of `bytes` adds to a process of its own.
Growth measureRegion(uint64_t bytes) {
  auto result = runInChild("measuring", [&]() -> ChildResult {
    Growth before{countAnonymous(), readProcessMemory().anonymous};
    SINTER_TRY(Region region, Region::allocate(bytes, "a test"));
    std::ranges::fill(region.getBytes(), std::byte{1});
    Growth growth{countAnonymous() - before.counted, readProcessMemory().anonymous - before.said};
    std::vector<std::byte> packed(sizeof growth);
    std::memcpy(packed.data(), &growth, sizeof growth);
    return packed;
  });
  EXPECT_TRUE(result) << result.error().message();
  Growth growth{};
  if (result)
    std::memcpy(&growth, result->data(), sizeof growth);
  return growth;
}

TEST(ProcessMemory, IsWhatTheSystemCounts) {
  if (countAnonymous() == 0)
    GTEST_SKIP() << "the system does not count pages";
  EXPECT_GT(readProcessMemory().mapped, 0u);
  Growth growth = measureRegion(100 * kMiB);
  EXPECT_NEAR(double(growth.said), double(growth.counted), double(4 * kMiB));
}

// Large pages do not make a region larger than it is.
TEST(ProcessMemory, ARegionHoldsWhatItIs) {
  if (countAnonymous() == 0)
    GTEST_SKIP() << "the system does not count pages";
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer has shadows of a region's pages";
#endif
#endif
  for (uint64_t bytes : {5 * kMiB / 2, 16 * kMiB + 4096, 64 * kMiB}) {
    Growth growth = measureRegion(bytes);
    EXPECT_GE(growth.counted, bytes);
    EXPECT_LE(growth.counted, bytes + kMiB / 2);
  }
}

TEST(ProcessMemory, TheAllowanceCoversCode) {
  MemoryUse use;
  use.code = kMiB;
  constexpr uint64_t least = (4 + 2) * kMiB;
  auto all = [&](uint64_t programs, uint64_t attached = 0, size_t ranks = 1) {
    return otherBytes(use, programs, attached, ranks) + use.code;
  };
  EXPECT_EQ(all(0), least);
  use.code = 0;
  EXPECT_EQ(all(0), least);
  EXPECT_EQ(all(1), least + kMiB);
  EXPECT_EQ(all(kMiB, 5), least + 3 * kMiB + 5);
  EXPECT_EQ(all(100 * kMiB, 0, 2), least + (3 + 300) * kMiB);
  use.code = 10 * kMiB;
  EXPECT_EQ(all(0), least + 18 * kMiB);
}

TEST(ProcessMemory, AShortageIsAWarning) {
  EXPECT_FALSE(describeShortage("the run", 10 * kMiB, 10 * kMiB));
  auto shortage = describeShortage("the run", 10 * kMiB, 4 * kMiB);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->message(), "the run: will hold 10.0 MiB of memory, of which 4.0 MiB are free "
                                 "now; it may become slow or be ended by the system");
  EXPECT_GE(memoryLimit(), availableMemory());
}

} // namespace
