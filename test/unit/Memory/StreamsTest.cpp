#include "compiler/Memory/Streams.h"
#include <gtest/gtest.h>
#include <random>

using namespace sinter;

namespace {

ByteRange reads(int64_t begin, int64_t end, unsigned space = 0) {
  return {space, begin, end, false};
}
ByteRange writes(int64_t begin, int64_t end, unsigned space = 0) {
  return {space, begin, end, true};
}

CommandLists hazardsOf(std::vector<std::vector<ByteRange>> ranges) {
  std::vector<StreamCommand> commands;
  for (std::vector<ByteRange> &each : ranges)
    commands.push_back({std::move(each)});
  return findHazards(commands);
}

using Lists = CommandLists;

TEST(HazardsTest, ReadersFollowWritersAndWritersReaders) {
  EXPECT_EQ(hazardsOf({{writes(0, 64)}, {reads(0, 64)}, {writes(0, 64)}, {reads(32, 40)}}),
            (Lists{{}, {0}, {0, 1}, {2}}));
}

TEST(HazardsTest, ReadersDoNotFollowEachOther) {
  EXPECT_EQ(hazardsOf({{reads(0, 64)}, {reads(0, 64)}, {writes(63, 65)}}), (Lists{{}, {}, {0, 1}}));
}

TEST(HazardsTest, BytesAndSpacesAreTold) {
  EXPECT_EQ(hazardsOf({{writes(0, 64)}, {reads(64, 128)}, {reads(0, 64, 1)}, {writes(10, 10)}}),
            (Lists{{}, {}, {}, {}}));
}

// What a write covers only in part is still there.
TEST(HazardsTest, PartsOfWhatWasWritten) {
  EXPECT_EQ(hazardsOf({{writes(0, 64)}, {writes(0, 32)}, {reads(0, 64)}}),
            (Lists{{}, {0}, {0, 1}}));
}

TEST(HazardsTest, UpdatesInPlace) {
  EXPECT_EQ(hazardsOf({{writes(0, 64)}, {reads(0, 64), writes(0, 64)}, {reads(0, 64)}}),
            (Lists{{}, {0}, {1}}));
}

// Whoever conflicts is ordered, directly or through others, and nobody else is.
TEST(HazardsTest, OrderWhatConflicts) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<ByteRange>> ranges(12);
    for (std::vector<ByteRange> &each : ranges)
      for (unsigned i = random() % 3; i < 3; ++i) {
        int64_t begin = random() % 20, end = begin + random() % 8;
        each.push_back({unsigned(random() % 2), begin, end, random() % 3 == 0});
      }
    auto conflict = [&](unsigned first, unsigned second) {
      for (const ByteRange &one : ranges[first])
        for (const ByteRange &other : ranges[second])
          if ((one.writes || other.writes) && one.space == other.space &&
              std::max(one.begin, other.begin) < std::min(one.end, other.end))
            return true;
      return false;
    };
    Lists hazards = hazardsOf(ranges);
    std::vector<std::vector<bool>> follows(ranges.size(), std::vector<bool>(ranges.size()));
    for (unsigned i = 0; i < ranges.size(); ++i) {
      for (unsigned other : hazards[i]) {
        EXPECT_TRUE(conflict(other, i));
        follows[i][other] = true;
        for (unsigned before = 0; before < other; ++before)
          follows[i][before] = follows[i][before] || follows[other][before];
      }
      for (unsigned other = 0; other < i; ++other)
        EXPECT_TRUE(follows[i][other] || !conflict(other, i));
    }
  }
}

TEST(WaitsTest, NoneInOneStream) {
  EXPECT_EQ(deriveWaits(std::vector<unsigned>{0, 0, 0}, {{}, {0}, {0, 1}}), (Lists{{}, {}, {}}));
}

// A fork and a join are an event each, however many commands are in the branches.
TEST(WaitsTest, ForkAndJoin) {
  std::vector<unsigned> streams{0, 0, 1, 1, 0};
  Lists hazards{{}, {0}, {0}, {0, 2}, {1, 2, 3}};
  StreamPlan plan{streams, deriveWaits(streams, hazards)};
  EXPECT_EQ(plan.waits, (Lists{{}, {}, {0}, {}, {3}}));
  EXPECT_EQ(plan.countEvents(), 2u);
}

// Of several hazards in a stream the last counts; what follows from it is not waited for.
TEST(WaitsTest, WhatFollowsFromAnotherWait) {
  std::vector<unsigned> streams{0, 1, 2};
  EXPECT_EQ(deriveWaits(streams, {{}, {0}, {0, 1}}), (Lists{{}, {0}, {1}}));
  // ... nor what was waited for before in the same stream.
  streams = {0, 1, 1};
  EXPECT_EQ(deriveWaits(streams, {{}, {0}, {0}}), (Lists{{}, {0}, {}}));
  // One event serves two streams.
  streams = {0, 1, 2};
  StreamPlan plan{streams, deriveWaits(streams, {{}, {0}, {0}})};
  EXPECT_EQ(plan.waits, (Lists{{}, {0}, {0}}));
  EXPECT_EQ(plan.countEvents(), 1u);
}

// Whether waits and streams order `first` before `second`.
bool isOrdered(const StreamPlan &plan, unsigned first, unsigned second) {
  std::vector<bool> after(second + 1);
  after[first] = true;
  for (unsigned i = first + 1; i <= second; ++i) {
    for (unsigned other = first; other < i; ++other)
      after[i] = after[i] || (after[other] && plan.streams[other] == plan.streams[i]);
    for (unsigned other : plan.waits[i])
      after[i] = after[i] || after[other];
  }
  return after[second];
}

// All hazards are kept, and each wait is needed for one.
TEST(WaitsTest, AreEnoughAndNeeded) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    unsigned count = 2 + random() % 14, streamCount = 1 + random() % 4;
    std::vector<unsigned> streams;
    Lists hazards(count);
    for (unsigned i = 0; i < count; ++i) {
      streams.push_back(random() % streamCount);
      for (unsigned other = 0; other < i; ++other)
        if (random() % 5 == 0)
          hazards[i].push_back(other);
    }
    StreamPlan plan{streams, deriveWaits(streams, hazards)};
    auto isKept = [&] {
      for (unsigned i = 0; i < count; ++i)
        for (unsigned other : hazards[i])
          if (!isOrdered(plan, other, i))
            return false;
      return true;
    };
    EXPECT_TRUE(isKept());
    for (std::vector<unsigned> &waits : plan.waits)
      for (size_t i = 0; i < waits.size(); ++i) {
        unsigned dropped = waits[i];
        waits.erase(waits.begin() + i);
        EXPECT_FALSE(isKept());
        waits.insert(waits.begin() + i, dropped);
      }
  }
}

constexpr StreamCosts costs{2, 2000, 1000};

StreamCommand command(double ns, double share) { return {{}, ns, share}; }

TEST(AssignStreamsTest, LeavesWhereItBeginsEarlierByMoreThanAnEvent) {
  // The third could begin when the first is done, while the second runs.
  auto streamsOf = [](double ns, double share) {
    std::vector<StreamCommand> commands{command(4000, 1), command(ns, 1), command(4000, share)};
    return assignStreams(commands, {{}, {0}, {0}}, costs);
  };
  EXPECT_EQ(streamsOf(9000, 0.5), (std::vector<unsigned>{0, 0, 1}));
  EXPECT_EQ(streamsOf(2000, 0.5), (std::vector<unsigned>{0, 0, 0}));
  EXPECT_EQ(streamsOf(9000, 1), (std::vector<unsigned>{0, 0, 0}));
}

TEST(AssignStreamsTest, CommunicationHasAStreamForItself) {
  StreamCommand sends = command(5000, 1);
  sends.stream = 1;
  std::vector<StreamCommand> commands{command(9000, 1), sends, command(4000, 0.5), sends};
  CommandLists hazards{{}, {}, {}, {2}};
  EXPECT_EQ(assignStreams(commands, hazards, costs), (std::vector<unsigned>{0, 1, 2, 1}));
  constexpr StreamCosts processor{1, 2000, 1000};
  EXPECT_EQ(assignStreams(commands, hazards, processor), (std::vector<unsigned>{0, 1, 0, 1}));
}

/// What moves bytes in a stream of its own kind.
StreamCommand transfer(double ns, unsigned stream) {
  StreamCommand made = command(ns, 0);
  made.stream = stream;
  return made;
}

// What computes comes behind the streams of all that communicates; which begins in order.
TEST(AssignStreamsTest, CommunicationMayHaveSeveralStreams) {
  std::vector<StreamCommand> commands{command(9000, 1), transfer(5000, 1), transfer(5000, 2),
                                      command(4000, 0.5)};
  EXPECT_EQ(assignStreams(commands, {{}, {}, {}, {}}, costs), (std::vector<unsigned>{0, 1, 2, 3}));
}

TEST(PredictTest, TransfersOfSeveralStreamsBeginInOrder) {
  auto predict = [](std::vector<StreamCommand> commands, CommandLists waits) {
    StreamPlan plan{{}, std::move(waits)};
    for (const StreamCommand &each : commands)
      plan.streams.push_back(each.stream);
    return predictNs(commands, plan, costs);
  };
  EXPECT_DOUBLE_EQ(predict({transfer(12000, 1), transfer(12000, 2)}, {{}, {}}), 12000);
  EXPECT_DOUBLE_EQ(predict({transfer(12000, 1), transfer(12000, 1)}, {{}, {}}), 24000);
  // The second one could begin at once, and begins with the first.
  EXPECT_DOUBLE_EQ(
      predict({command(30000, 1), transfer(3000, 1), transfer(3000, 2)}, {{}, {0}, {}}),
      30000 + 2000 + 1000 + 1000);
}

TEST(PredictTest, ShareTheMachine) {
  auto predict = [](double share) {
    std::vector<StreamCommand> commands{command(10000, share), command(10000, share)};
    return predictNs(commands, {{0, 1}, {{}, {}}}, costs);
  };
  EXPECT_DOUBLE_EQ(predict(0.5), 10000);
  EXPECT_DOUBLE_EQ(predict(1), 18000); // starts side by side, works twice as long
}

TEST(PredictTest, WaitsTakeAnEvent) {
  std::vector<StreamCommand> commands{command(10000, 0.1), command(5000, 0.1), command(3000, 0.1)};
  EXPECT_DOUBLE_EQ(predictNs(commands, {{0, 0, 0}, {{}, {}, {}}}, costs), 18000);
  EXPECT_DOUBLE_EQ(predictNs(commands, {{0, 1, 0}, {{}, {}, {1}}}, costs), 14000);
  EXPECT_DOUBLE_EQ(predictNs(commands, {{0, 1, 1}, {{}, {0}, {}}}, costs), 19000);
}

} // namespace
