//===- ClocksTest.cpp - What happened before what -------------------------===//
#include "test/simt/GridOrder.h"

#include <gtest/gtest.h>

using namespace sinter::simt;

namespace {

TEST(ClocksTest, ThreadsKnowOnlyThemselvesAtFirst) {
  Clocks clocks;
  clocks.start(64);
  EXPECT_TRUE(clocks.knows(3, 3, clocks.now(3)));
  EXPECT_FALSE(clocks.knows(4, 3, clocks.now(3)));
}

TEST(ClocksTest, ABarrierTellsEveryoneWhatWasBefore) {
  Clocks clocks;
  clocks.start(64);
  auto before = clocks.now(3);
  clocks.joinBlock();
  EXPECT_TRUE(clocks.knows(40, 3, before));
  EXPECT_FALSE(clocks.knows(40, 3, clocks.now(3)));
}

TEST(ClocksTest, SyncwarpTellsOnlyItsLanes) {
  Clocks clocks;
  clocks.start(64);
  auto before = clocks.now(3);
  clocks.joinWarp(0, 0x18); // lanes 3 and 4
  EXPECT_TRUE(clocks.knows(4, 3, before));
  EXPECT_FALSE(clocks.knows(4, 3, clocks.now(3)));
  EXPECT_FALSE(clocks.knows(5, 3, before));
  EXPECT_FALSE(clocks.knows(40, 3, before));
  clocks.joinWarp(0, 0x30); // lane 4 passes on to lane 5 what it has learnt
  EXPECT_TRUE(clocks.knows(5, 3, before));
}

TEST(ClocksTest, ABarrierAfterASyncwarpTellsAll) {
  Clocks clocks;
  clocks.start(64);
  clocks.joinWarp(0, 0xffffffff);
  auto between = clocks.now(3);
  clocks.joinBlock();
  EXPECT_TRUE(clocks.knows(40, 3, between));
}

class GridOrderTest : public ::testing::Test {
protected:
  /// Starts the next block of 64 threads.
  void nextBlock() {
    clocks.start(64);
    order.startBlock(64);
  }

  GridOrder order;
  Clocks clocks;
  int ticket = 0, other = 0;
};

TEST_F(GridOrderTest, FenceAndTicketPublishWhatTheThreadKnew) {
  order.startLaunch();
  nextBlock(); // 1: thread 9 writes; all meet; thread 0 publishes; thread 9 writes again
  auto early = clocks.now(9);
  clocks.joinBlock();
  auto late = clocks.now(9);
  order.fence(0, clocks);
  order.atomic(&ticket, 1, 0, clocks.now(0));

  nextBlock(); // 2: thread 0 takes the ticket; all meet
  EXPECT_FALSE(order.knows(0, clocks, 1, 9, early));
  order.atomic(&ticket, 2, 0, clocks.now(0));
  EXPECT_TRUE(order.knows(0, clocks, 1, 9, early));
  EXPECT_FALSE(order.knows(0, clocks, 1, 9, late));
  EXPECT_FALSE(order.knows(33, clocks, 1, 9, early));
  EXPECT_FALSE(order.knowsAtomics(33, clocks, &ticket));
  clocks.joinBlock();
  EXPECT_TRUE(order.knows(33, clocks, 1, 9, early));
  EXPECT_TRUE(order.knowsAtomics(33, clocks, &ticket));
}

TEST_F(GridOrderTest, AnotherTicketOrNoFencePublishesNothing) {
  order.startLaunch();
  nextBlock();
  auto first = clocks.now(0);
  order.atomic(&ticket, 1, 0, first);
  nextBlock();
  order.fence(0, clocks);
  order.atomic(&ticket, 2, 0, clocks.now(0));
  nextBlock();
  order.atomic(&other, 3, 0, clocks.now(0));
  EXPECT_FALSE(order.knows(0, clocks, 2, 0, 1));
  order.atomic(&ticket, 3, 0, clocks.now(0));
  EXPECT_FALSE(order.knows(0, clocks, 1, 0, first));
  EXPECT_TRUE(order.knows(0, clocks, 2, 0, 1));
}

} // namespace
