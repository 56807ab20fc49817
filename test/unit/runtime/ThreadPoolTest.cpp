#include "runtime/Base/ThreadPool.h"
#include <chrono>
#include <gtest/gtest.h>

using namespace sinter::runtime;

namespace {

TEST(ThreadPoolTest, EveryItemRunsOnce) {
  for (unsigned threads : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.size(), threads);
    for (uint64_t grid : {0, 1, 2, 3, 7, 64, 1000, 4097})
      for (uint64_t chunk : {0, 1, 2, 5, 100, 5000}) {
        std::vector<std::atomic<int>> counts(grid);
        pool.run(grid, chunk, [&](uint64_t begin, uint64_t end) {
          EXPECT_LT(begin, end);
          EXPECT_LE(end, grid);
          for (uint64_t i = begin; i < end; ++i)
            counts[i].fetch_add(1, std::memory_order_relaxed);
        });
        for (auto &count : counts)
          ASSERT_EQ(count, 1);
      }
  }
}

TEST(ThreadPoolTest, ManyLaunchesBackToBack) {
  ThreadPool pool(4);
  std::atomic<uint64_t> total{0};
  for (int i = 0; i < 5000; ++i)
    pool.run(8, 1, [&](uint64_t begin, uint64_t end) { total += end - begin; });
  EXPECT_EQ(total, 40000u);
}

TEST(ThreadPoolTest, WorkersWakeAfterAPause) {
  ThreadPool pool(3);
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(i % 2 ? 200 : 45));
    std::atomic<uint64_t> total{0};
    pool.run(30, 1, [&](uint64_t begin, uint64_t end) { total += end - begin; });
    ASSERT_EQ(total, 30u);
  }
}

TEST(ThreadPoolTest, NestedLaunchesRunInPlace) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> counts(64);
  pool.run(8, 1, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      unsigned outer = ThreadPool::getThreadIndex();
      pool.run(8, 1, [&](uint64_t from, uint64_t to) {
        EXPECT_EQ(ThreadPool::getThreadIndex(), outer);
        for (uint64_t j = from; j < to; ++j)
          ++counts[i * 8 + j];
      });
    }
  });
  for (auto &count : counts)
    EXPECT_EQ(count, 1);
}

TEST(ThreadPoolTest, LaunchesFromSeveralThreads) {
  ThreadPool pool(2);
  std::atomic<uint64_t> total{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        pool.run(10, 1, [&](uint64_t begin, uint64_t end) { total += end - begin; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(total, 15000u);
}

TEST(ThreadPoolTest, ThreadIndicesAreDistinctWithinALaunch) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(pool.size());
  pool.run(256, 1, [&](uint64_t, uint64_t) {
    unsigned index = ThreadPool::getThreadIndex();
    ASSERT_LT(index, pool.size());
    EXPECT_EQ(inside[index].fetch_add(1), 0);
    std::this_thread::yield();
    inside[index].fetch_sub(1);
  });
}

TEST(ThreadPoolTest, BalancedChunksCoverTheGrid) {
  ThreadPool pool(2);
  EXPECT_EQ(pool.balancedChunk(0), 1u);
  EXPECT_EQ(pool.balancedChunk(8), 1u);
  EXPECT_EQ(pool.balancedChunk(9), 2u);
  EXPECT_EQ(pool.balancedChunk(800), 100u);
}

} // namespace
