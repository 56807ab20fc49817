//===- TimelineTest.cpp - What streams and events order -------------------===//
#include "test/cuda/Timeline.h"

#include <gtest/gtest.h>

using namespace sinter::fake;

namespace {

constexpr Access writeLow{0, 100, true}, readLow{50, 60, false}, readHigh{100, 200, false};

class TimelineTest : public ::testing::Test {
protected:
  /// Gives a stream work on some memory; whether that collides with other work.
  bool collides(unsigned stream, const Access &access) {
    timeline.submit(stream);
    return timeline.touch(stream, "work on stream " + std::to_string(stream), access).has_value();
  }

  Timeline timeline;
};

TEST_F(TimelineTest, AStreamIsInOrder) {
  EXPECT_FALSE(collides(1, writeLow));
  EXPECT_FALSE(collides(1, readLow));
  EXPECT_FALSE(collides(1, writeLow));
}

TEST_F(TimelineTest, TwoStreamsAreNot) {
  EXPECT_FALSE(collides(1, writeLow));
  EXPECT_FALSE(collides(2, readHigh));
  timeline.submit(2);
  EXPECT_EQ(timeline.touch(2, "work", readLow), "work on stream 1");
}

TEST_F(TimelineTest, ReadersDoNotCollide) {
  EXPECT_FALSE(collides(1, readLow));
  EXPECT_FALSE(collides(2, readLow));
  EXPECT_TRUE(collides(3, writeLow));
}

TEST_F(TimelineTest, AnEventOrdersWhatWasBeforeIt) {
  EXPECT_FALSE(collides(1, writeLow));
  Timeline::Clock event = timeline.clock(1);
  EXPECT_FALSE(collides(1, {100, 200, true}));
  timeline.wait(2, event);
  EXPECT_FALSE(collides(2, readLow));
  EXPECT_TRUE(collides(2, readHigh));
}

TEST_F(TimelineTest, EventsPassOnWhatTheirStreamWaitedFor) {
  EXPECT_FALSE(collides(1, writeLow));
  timeline.wait(2, timeline.clock(1));
  timeline.submit(2);
  timeline.wait(3, timeline.clock(2));
  EXPECT_FALSE(collides(3, readLow));
}

TEST_F(TimelineTest, TheHostOrdersWhatItSubmitsLater) {
  EXPECT_FALSE(collides(1, writeLow));
  timeline.waitOnHost(timeline.clock(1));
  EXPECT_FALSE(collides(2, writeLow));
  EXPECT_TRUE(collides(1, writeLow));
}

// What a kernel touches is known when it has run, which may be after what stands behind it.
TEST_F(TimelineTest, WhatIsKnownLate) {
  timeline.submit(1);
  Timeline::Place first = timeline.latest(1);
  timeline.wait(2, timeline.clock(1));
  EXPECT_FALSE(collides(2, readLow));
  timeline.submit(3);
  EXPECT_FALSE(timeline.touch(first, "late", writeLow));
  EXPECT_EQ(timeline.touch(3, "other", readLow), "late");
}

TEST_F(TimelineTest, ReadyWhenWhatIsBeforeIsDone) {
  timeline.submit(1);
  timeline.wait(2, timeline.clock(1));
  timeline.submit(2);
  Timeline::Place second = timeline.latest(2);
  EXPECT_TRUE(Timeline::isReady(timeline.latest(1), {}));
  EXPECT_FALSE(Timeline::isReady(second, {}));
  EXPECT_TRUE(Timeline::isReady(second, {{1, 1}}));
  timeline.submit(2);
  EXPECT_FALSE(Timeline::isReady(timeline.latest(2), {{1, 1}}));
  EXPECT_TRUE(Timeline::isReady(timeline.latest(2), {{1, 1}, {2, 1}}));
}

} // namespace
