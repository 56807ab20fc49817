//===- SchedulerTest.cpp - Whose turn it is -------------------------------===//
#include "test/simt/Scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace sinter::simt;

namespace {

/// The order in which threads that never wait run.
std::vector<unsigned> turns(unsigned threads, const Schedule &schedule) {
  Scheduler scheduler;
  scheduler.follow(schedule);
  scheduler.start(threads);
  std::vector<unsigned> order;
  for (unsigned next; (next = scheduler.next()) != Scheduler::none;) {
    order.push_back(next);
    scheduler.makeWaiting(next);
  }
  return order;
}

TEST(SchedulerTest, EveryThreadHasItsTurn) {
  for (auto order : {Schedule::Order::Forward, Schedule::Order::Reverse, Schedule::Order::Shuffled})
    for (unsigned threads : {1u, 31u, 32u, 33u, 128u, 1024u}) {
      auto taken = turns(threads, {order, 7});
      EXPECT_EQ(taken.size(), threads);
      std::sort(taken.begin(), taken.end());
      EXPECT_TRUE(std::adjacent_find(taken.begin(), taken.end()) == taken.end());
    }
}

TEST(SchedulerTest, OrdersAreWhatTheySay) {
  auto forward = turns(80, {Schedule::Order::Forward}),
       reverse = turns(80, {Schedule::Order::Reverse});
  EXPECT_TRUE(std::is_sorted(forward.begin(), forward.end()));
  EXPECT_TRUE(std::is_sorted(reverse.rbegin(), reverse.rend()));
}

TEST(SchedulerTest, ShufflesDependOnTheSeed) {
  auto shuffled = [](unsigned seed) { return turns(128, {Schedule::Order::Shuffled, seed}); };
  EXPECT_EQ(shuffled(1), shuffled(1));
  EXPECT_NE(shuffled(1), shuffled(2));
}

TEST(SchedulerTest, BlocksComeInTheOrderOfTheSchedule) {
  EXPECT_EQ(blockOrder(3, {Schedule::Order::Forward}), (std::vector<unsigned>{0, 1, 2}));
  EXPECT_EQ(blockOrder(3, {Schedule::Order::Reverse}), (std::vector<unsigned>{2, 1, 0}));
  auto shuffled = blockOrder(100, {Schedule::Order::Shuffled, 3});
  EXPECT_FALSE(std::is_sorted(shuffled.begin(), shuffled.end()));
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, blockOrder(100, {}));
}

} // namespace
