#include "runtime/Cluster/AlikeRanks.h"
#include <gtest/gtest.h>
#include <random>

using namespace sinter;
using namespace sinter::runtime;
using fb::CollectiveKind;

namespace {

Cluster makeRing(std::vector<LinkLevel> levels) {
  Cluster cluster;
  cluster.name = cluster.source = "test";
  cluster.device = {"device", "cpu", uint64_t(1) << 30, 1e9, 2e9, 1e9, 1};
  cluster.routing = Routing::Ring;
  cluster.levels = std::move(levels);
  return cluster;
}

Task computing(double seconds) {
  Task task;
  task.seconds = seconds;
  return task;
}

Task gathering(uint32_t group, uint64_t bytes, uint32_t stream) {
  Task task;
  task.transfer = Transfer{CollectiveKind::AllGather, group, bytes};
  task.stream = stream;
  return task;
}

Task pass(bool receives, uint32_t stage, uint64_t bytes) {
  Task task;
  task.message = Message{receives, stage, /*channel=*/receives ? stage : stage - 1, 0, bytes};
  return task;
}

/// Ranks of a grid of stages, each of `rows` by `columns`, in groups along the columns, the rows,
/// and both. The ranks of a stage run its list.
std::vector<SimulatedRank> makeGrid(const std::vector<TaskList> &stages, size_t rows,
                                    size_t columns) {
  std::vector<SimulatedRank> ranks;
  for (size_t stage = 0; stage < stages.size(); ++stage)
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        size_t first = stage * rows * columns;
        RankGroup along{{}, column}, across{{}, row}, all{{}, row * columns + column};
        for (size_t i = 0; i < columns; ++i)
          along.ranks.push_back(first + row * columns + i);
        for (size_t i = 0; i < rows; ++i)
          across.ranks.push_back(first + i * columns + column);
        for (size_t i = 0; i < rows * columns; ++i)
          all.ranks.push_back(first + i);
        SimulatedRank rank{{&stages[stage]}, {along, across, all}};
        for (size_t i = 0; i < stages.size(); ++i)
          rank.stages.push_back((i * rows + row) * columns + column);
        ranks.push_back(std::move(rank));
      }
  return ranks;
}

using Ranks = std::vector<size_t>;

TEST(AlikeRanksTest, PlacesOfOneStageAre) {
  std::vector<TaskList> stages(2);
  std::vector<SimulatedRank> ranks = makeGrid(stages, 2, 2);
  EXPECT_EQ(findAlikeRanks(makeRing({{"inner", 2, 1, 1}, {"outer", 8, 1, 1}}), ranks),
            Ranks({0, 0, 0, 0, 4, 4, 4, 4}));
}

TEST(AlikeRanksTest, WhoHasNoNeighbourInTheIslandIsNot) {
  std::vector<TaskList> stages(1);
  std::vector<SimulatedRank> ranks = makeGrid(stages, 2, 3);
  for (SimulatedRank &rank : ranks)
    rank.groups.resize(1); // of three: 0, 1, 2 and 3, 4, 5
  EXPECT_EQ(findAlikeRanks(makeRing({{"inner", 2, 1, 1}, {"outer", 6, 1, 1}}), ranks),
            Ranks({0, 0, 2, 2, 0, 0}));
  EXPECT_EQ(findAlikeRanks(makeRing({{"all", 6, 1, 1}}), ranks), Ranks(6, 0));
}

TEST(AlikeRanksTest, WhoseGroupsShareALinkIsNot) {
  // Two boards without a switch. On the first one both groups of a rank are of one link.
  Cluster cluster = makeRing({{"board", 4, 1, 1, Topology::FullyConnected}, {"all", 8, 1, 1}});
  TaskList list;
  std::vector<SimulatedRank> ranks;
  for (size_t rank = 0; rank < 8; ++rank) {
    size_t pair = rank / 2 * 2, other = rank < 4 ? pair : rank / 4 * 4 + rank % 2;
    ranks.push_back({{&list}, {{{pair, pair + 1}}, {{other, other + (rank < 4 ? 1 : 2)}}}});
  }
  EXPECT_EQ(findAlikeRanks(cluster, ranks), Ranks({0, 0, 0, 0, 4, 4, 4, 4}));
  cluster.levels.front().topology = Topology::Switch;
  EXPECT_EQ(findAlikeRanks(cluster, ranks), Ranks(8, 0));
}

TEST(AlikeRanksTest, SendersToOneRankAreNot) {
  TaskList send = {pass(false, 1, 10)}, receive = {pass(true, 0, 10)};
  std::vector<SimulatedRank> ranks = {
      {{&send}, {}, {0, 2}}, {{&send}, {}, {1, 2}}, {{&receive}, {}, {0, 2}}};
  EXPECT_EQ(findAlikeRanks(makeRing({{"all", 3, 1, 1}}), ranks), Ranks({0, 1, 2}));
}

/// Steps of grids drawn by chance take the same times, whether one rank plays for those that are
/// alike or, with lists of their own, each for itself.
TEST(AlikeRanksTest, StepsTakeTheSameTimes) {
  std::mt19937 random(1);
  auto draw = [&](uint32_t most) { return random() % most; };
  size_t merged = 0;
  for (int round = 0; round < 200; ++round) {
    size_t rows = 1 + draw(4), columns = 1 + draw(4), places = 1 + draw(3);
    size_t island = 2 + draw(4);
    auto topology = [&] { return draw(2) != 0 ? Topology::FullyConnected : Topology::Switch; };
    Cluster cluster =
        makeRing({{"inner", island, 1, 2, topology()}, {"outer", 24 * island, 3, 1, topology()}});
    if (draw(2) != 0)
      cluster.routing = Routing::Direct;
    std::vector<TaskList> stages(places);
    for (size_t stage = 0; stage < places; ++stage)
      for (uint32_t microbatch = 0; microbatch < 3; ++microbatch) {
        TaskList &list = stages[stage];
        if (stage > 0)
          list.push_back(pass(true, uint32_t(stage) - 1, 24));
        for (uint32_t i = draw(5); i-- > 0;) {
          list.push_back(computing(1 + draw(50)));
          list.push_back(gathering(draw(3), 144 * (1 + draw(3)), draw(3)));
          if (draw(2) != 0)
            list.back().waits = {uint32_t(list.size()) - 2};
        }
        if (stage + 1 < places)
          list.push_back(pass(false, uint32_t(stage) + 1, 24));
      }
    std::vector<SimulatedRank> ranks = makeGrid(stages, rows, columns), alone = ranks;
    bool inOrder = draw(2) != 0;
    std::vector<TaskList> own(ranks.size());
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      own[rank] = *ranks[rank].lists.front();
      alone[rank].lists = {&own[rank]};
      ranks[rank].beginsInOrder = alone[rank].beginsInOrder = inOrder;
    }
    Ranks first = findAlikeRanks(cluster, ranks);
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      merged += first[rank] != rank;
    auto all = [&](const StepTime &) {
      Ranks every(ranks.size());
      for (size_t i = 0; i < every.size(); ++i)
        every[i] = i;
      return every;
    };
    auto together = simulate(cluster, ranks, all), apart = simulate(cluster, alone, all);
    ASSERT_EQ(together.has_value(), apart.has_value()) << round;
    if (!together) {
      EXPECT_EQ(together.error().message(), apart.error().message()) << round;
      continue;
    }
    EXPECT_NEAR(together->seconds, apart->seconds, 1e-9) << round;
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      const RankTime &one = together->ranks[rank], &other = apart->ranks[rank];
      EXPECT_NEAR(one.compute, other.compute, 1e-9) << round << ", rank " << rank;
      EXPECT_NEAR(one.wait, other.wait, 1e-9) << round << ", rank " << rank;
      EXPECT_EQ(one.sent, other.sent) << round << ", rank " << rank;
      for (size_t group = 0; group < one.exposed.size(); ++group)
        EXPECT_NEAR(one.exposed[group], other.exposed[group], 1e-9) << round << ", rank " << rank;
      EXPECT_FALSE(one.spans.empty() && !other.spans.empty());
    }
  }
  EXPECT_GT(merged, 1000u);
}

} // namespace
