#include "runtime/Cluster/Simulation.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace sinter;
using namespace sinter::runtime;
using fb::CollectiveKind;

namespace {

/// Nodes of 4 devices: messages take 1 s and 1 s a byte within, 10 s and 2 s a byte between them.
Cluster makeCluster(Routing routing) {
  Cluster cluster;
  cluster.name = cluster.source = "test";
  cluster.device = {"device", "cpu", uint64_t(1) << 30, 1e9, 2e9, 1e9, 1};
  cluster.routing = routing;
  cluster.levels = {{"inner", 4, 1, 1}, {"outer", 8, 10, 0.5}};
  return cluster;
}

RankGroup makeGroup(std::vector<size_t> ranks, size_t place = 0) { return {ranks, place}; }

double predict(Routing routing, std::vector<size_t> ranks, CollectiveKind kind, uint64_t bytes) {
  Cluster cluster = makeCluster(routing);
  return predictCollective(cluster, findSpread(cluster, makeGroup(std::move(ranks))), kind, bytes);
}

TEST(ClusterTest, ComesBackFromItsText) {
  for (const char *name : {"h200", "h200x4", "h100x8", "h100x128", "cpux2"}) {
    auto cluster = Cluster::find(name);
    ASSERT_TRUE(cluster) << cluster.error().message();
    auto again = Cluster::parse(cluster->toJson(), name);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->toJson(), cluster->toJson());
    EXPECT_FALSE(cluster->source.empty());
  }
  EXPECT_EQ(Cluster::find("h100x128")->size(), 128u);
  EXPECT_EQ(Cluster::find("h200")->size(), 1u);
  EXPECT_EQ(Cluster::find("h200x4")->levels.front().topology, Topology::FullyConnected);
  EXPECT_EQ(Cluster::find("h100x128")->levels.front().topology, Topology::Switch);
}

TEST(ClusterTest, RefusesWhatIsNone) {
  std::string good = Cluster::find("h100x128")->toJson();
  ASSERT_TRUE(Cluster::parse(good, "c.json"));
  auto refuse = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    auto cluster = Cluster::parse(text, "c.json");
    return cluster ? std::string("none") : cluster.error().message();
  };
  std::string remedy = "; see docs/many-devices.md for what a cluster's description holds";
  EXPECT_EQ(
      refuse("\"devices\": 128", "\"devices\": 100"),
      "`cluster` c.json: level 1 of its 'levels' joins no multiple of the 8 devices before it" +
          remedy);
  EXPECT_EQ(refuse("\"devices\": 8,", "\"devices\": 8.5,").find("level 0"), 18u);
  EXPECT_EQ(refuse("\"alpha_us\"", "\"alfa_us\""),
            "`cluster` c.json: level 0 of its 'levels' has no 'alpha_us'" + remedy);
  EXPECT_EQ(refuse("\"target\"", "\"color\": 1, \"target\""),
            "`cluster` c.json: its 'device' has a key that is not known, 'color'" + remedy);
  EXPECT_EQ(refuse("\"ring\"", "\"star\""),
            "`cluster` c.json: it has a 'routing' that is not direct or ring" + remedy);
  EXPECT_EQ(refuse("\"topology\": \"switch\"", "\"topology\": \"mesh\""),
            "`cluster` c.json: level 0 of its 'levels' has a 'topology' that is not switch or "
            "fully-connected" +
                remedy);
  EXPECT_EQ(refuse("\"f32_gflops\": 67000.0", "\"f32_gflops\": -1")
                .find("`cluster` c.json: its 'device' has a 'f32_gflops' that is no number from"),
            0u);
  EXPECT_EQ(Cluster::parse("[]", "c.json").error().message(),
            "`cluster` c.json: it is no object" + remedy);
}

TEST(ClusterTest, NamesWhatComesAlong) {
  EXPECT_EQ(Cluster::find("h100x9").error().message(),
            "`cluster` h100x9: there is none of this name; give h200, h200x4, h100x8, h100x128, "
            "cpux2, or a file of your own");
  EXPECT_EQ(Cluster::find("./none.json").error().what, "./none.json");
}

TEST(ClusterTest, DirectMessagesAddUp) {
  // Three messages of 10 bytes within a node.
  EXPECT_DOUBLE_EQ(predict(Routing::Direct, {0, 1, 2, 3}, CollectiveKind::AllGather, 40), 33);
  // One to the neighbour, two to the other node.
  EXPECT_DOUBLE_EQ(predict(Routing::Direct, {0, 1, 4, 5}, CollectiveKind::AllToAll, 40),
                   11 + 2 * 30);
  EXPECT_DOUBLE_EQ(predict(Routing::Direct, {0, 4}, CollectiveKind::AllReduce, 40), 2 * 50);
}

TEST(ClusterTest, RingsEnterEachNodeOnce) {
  // 7 parts of 10 bytes go over each link within; out of a node 4 links share them.
  std::vector<size_t> all(8);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_DOUBLE_EQ(predict(Routing::Ring, all, CollectiveKind::AllGather, 80), 6 * 1 + 10 + 70);
  // One of each node has the link for itself.
  EXPECT_DOUBLE_EQ(predict(Routing::Ring, {3, 7}, CollectiveKind::AllGather, 80), 10 + 80);
}

TEST(ClusterTest, WithoutASwitchAGroupHasTheLinksBetweenItsMembers) {
  Cluster cluster = makeCluster(Routing::Ring);
  cluster.levels.front().topology = Topology::FullyConnected;
  auto gather = [&](std::vector<size_t> ranks, uint64_t bytes) {
    return predictCollective(cluster, findSpread(cluster, makeGroup(std::move(ranks))),
                             CollectiveKind::AllGather, bytes);
  };
  // All three links of each; two of them; one.
  EXPECT_DOUBLE_EQ(gather({0, 1, 2, 3}, 40), 3 * 1 + 30);
  EXPECT_DOUBLE_EQ(gather({0, 1, 3}, 30), 2 * 1 + 20 * 1.5);
  EXPECT_DOUBLE_EQ(gather({1, 3}, 20), 1 + 10 * 3);
  // The links between nodes have a switch.
  EXPECT_DOUBLE_EQ(gather({3, 7}, 80), 10 + 80);
  cluster.routing = Routing::Direct;
  EXPECT_DOUBLE_EQ(gather({1, 3}, 20), 1 + 10 * 3);
  EXPECT_DOUBLE_EQ(gather({0, 1, 2, 3}, 40), 3 * (1 + 10));
}

TEST(ClusterTest, WithoutASwitchIslandsShareTheLinksBetweenThem) {
  Cluster cluster = makeCluster(Routing::Ring);
  cluster.levels.back() = {"outer", 16, 10, 0.5, Topology::FullyConnected};
  auto gather = [&](std::vector<size_t> ranks, uint64_t bytes) {
    return predictCollective(cluster, findSpread(cluster, makeGroup(std::move(ranks))),
                             CollectiveKind::AllGather, bytes);
  };
  // Two of four islands: one link of three. With two members in each, two devices have such links.
  EXPECT_DOUBLE_EQ(gather({0, 4}, 20), 10 + 10 * 2 * 3);
  EXPECT_DOUBLE_EQ(gather({0, 1, 4, 5}, 40), 2 * 1 + 10 + 3 * 10 * 2 * 3 / 2.0);
  EXPECT_DOUBLE_EQ(gather({0, 4, 8, 12}, 40), 3 * 10 + 3 * 10 * 2);
}

TEST(ClusterTest, NothingIsSentAlone) {
  EXPECT_EQ(predict(Routing::Ring, {5}, CollectiveKind::AllGather, 1 << 20), 0);
  EXPECT_DOUBLE_EQ(predict(Routing::Direct, {0, 1}, CollectiveKind::AllSlice, 1000), 500e-9);
}

//===----------------------------------------------------------------------===//
// Simulation
//===----------------------------------------------------------------------===//

Task compute(double seconds, uint32_t stream = 0, std::vector<uint32_t> waits = {}) {
  Task task;
  task.seconds = seconds;
  task.stream = stream;
  task.waits = std::move(waits);
  return task;
}

Task gather(uint64_t bytes, uint32_t stream = 0, std::vector<uint32_t> waits = {}) {
  Task task = compute(0, stream, std::move(waits));
  task.transfer = Transfer{CollectiveKind::AllGather, 0, bytes};
  return task;
}

/// Ranks 0 and 1 with lists of their own.
Expected<StepTime> play(const TaskList &first, const TaskList &second) {
  std::vector<size_t> both = {0, 1};
  std::vector<SimulatedRank> ranks(2);
  for (size_t i : both)
    ranks[i] = {{i == 0 ? &first : &second}, {makeGroup({0, 1}, i)}};
  return simulate(makeCluster(Routing::Direct), ranks, [&](const StepTime &) { return both; });
}

TEST(SimulationTest, LastRankBeginsACollective) {
  auto step = play({compute(3), gather(20), compute(1)}, {compute(5), gather(20), compute(4)});
  ASSERT_TRUE(step) << step.error().message();
  // A message of 10 bytes takes 11 s.
  EXPECT_DOUBLE_EQ(step->seconds, 5 + 11 + 4);
  const RankTime &early = step->ranks[0], &late = step->ranks[1];
  EXPECT_DOUBLE_EQ(early.compute, 4);
  EXPECT_DOUBLE_EQ(early.exposed[0], 11);
  EXPECT_DOUBLE_EQ(early.wait, 2 + 3); // before it, and at the end
  EXPECT_DOUBLE_EQ(late.wait, 0);
  EXPECT_EQ(late.sent[0], 10u);
  ASSERT_EQ(early.spans.size(), 4u);
  EXPECT_EQ(early.spans[1].kind, SpanKind::Wait);
  EXPECT_DOUBLE_EQ(early.spans[2].begin, 5);
}

TEST(SimulationTest, StreamsHideCommunication) {
  // The gather runs beside 8 s of computing; what needs it waits for the rest.
  TaskList list = {compute(1), gather(20, 1, {0}), compute(8), compute(2, 0, {1})};
  auto step = play(list, list);
  ASSERT_TRUE(step) << step.error().message();
  EXPECT_DOUBLE_EQ(step->seconds, 1 + 11 + 2);
  for (const RankTime &rank : step->ranks) {
    EXPECT_DOUBLE_EQ(rank.compute, 11);
    EXPECT_DOUBLE_EQ(rank.exposed[0], 3);
    EXPECT_DOUBLE_EQ(rank.wait, 0);
  }
}

/// Seconds of a step of four devices that run one list, in groups {0, 1}, {2, 3} and {0, 2}, {1,
/// 3}.
double playTwoAxes(const Cluster &cluster, const TaskList &list, bool inOrder = false) {
  std::vector<SimulatedRank> ranks(4);
  for (size_t i = 0; i < 4; ++i)
    ranks[i] = {
        {&list},
        {makeGroup({i / 2 * 2, i / 2 * 2 + 1}, i % 2), makeGroup({i % 2, i % 2 + 2}, i / 2)},
        {},
        inOrder};
  auto step = simulate(cluster, ranks);
  EXPECT_TRUE(step) << step.error().message();
  return step ? step->seconds : 0;
}

Task gatherAlong(uint32_t group, uint64_t bytes, std::vector<uint32_t> waits = {}) {
  Task task = gather(bytes, 1 + group, std::move(waits));
  task.transfer->group = group;
  return task;
}

TEST(SimulationTest, TransfersOverTheSameLinksShareThem) {
  Cluster cluster = makeCluster(Routing::Ring);
  // 1 s, and 10 s of bytes.
  EXPECT_DOUBLE_EQ(playTwoAxes(cluster, {gatherAlong(0, 20)}), 11);
  EXPECT_DOUBLE_EQ(playTwoAxes(cluster, {gatherAlong(0, 20), gatherAlong(1, 20)}), 1 + 20);
  // When the smaller one is there the other one has the links for itself.
  EXPECT_DOUBLE_EQ(playTwoAxes(cluster, {gatherAlong(0, 20), gatherAlong(1, 40)}), 1 + 20 + 10);
  // The second one comes when the first has 4 s left.
  EXPECT_DOUBLE_EQ(playTwoAxes(cluster, {gatherAlong(0, 20), compute(6), gatherAlong(1, 20, {1})}),
                   7 + 8 + 6);
}

TEST(SimulationTest, TransfersOverLinksOfTheirOwnTakeAsLongAsAlone) {
  Cluster cluster = makeCluster(Routing::Ring);
  cluster.levels.front().topology = Topology::FullyConnected;
  EXPECT_DOUBLE_EQ(playTwoAxes(cluster, {gatherAlong(0, 20)}), 1 + 30);
  EXPECT_DOUBLE_EQ(playTwoAxes(cluster, {gatherAlong(0, 20), gatherAlong(1, 20)}), 1 + 30);
  // Another level's: the links between nodes are not those within.
  cluster = makeCluster(Routing::Ring);
  cluster.levels = {{"inner", 2, 1, 1}, {"outer", 4, 1, 0.5}};
  EXPECT_DOUBLE_EQ(playTwoAxes(cluster, {gatherAlong(0, 40), gatherAlong(1, 20)}), 1 + 20);
}

TEST(SimulationTest, LinksThatAreBusyInPartHaveRoom) {
  // A ring of all 8: its bytes take 70 s within nodes, and those of 4 links between them 35 s.
  std::vector<size_t> all(8);
  std::iota(all.begin(), all.end(), 0);
  TaskList list = {gatherAlong(0, 80), gatherAlong(1, 20)};
  std::vector<SimulatedRank> ranks(8);
  for (size_t i = 0; i < 8; ++i)
    ranks[i] = {{&list}, {makeGroup(all, i), makeGroup({i % 4, i % 4 + 4}, i / 4)}};
  auto step = simulate(makeCluster(Routing::Ring), ranks);
  ASSERT_TRUE(step) << step.error().message();
  // They move bytes from 16 and 10 s on. From 16 s on both need one and a half of the links between
  // nodes, until the 14 s that the second one then has left are over.
  EXPECT_DOUBLE_EQ(step->seconds, 16 + 14 * 1.5 + (70 - 14));
}

TEST(SimulationTest, MessagesShareWhatGoesTheirWay) {
  auto message = [](bool receives, uint32_t stage, uint32_t channel, uint32_t stream = 0) {
    Task task;
    task.message = Message{receives, stage, channel, 0, 10};
    task.stream = stream;
    return task;
  };
  auto playStages = [&](const TaskList &first, const TaskList &second) {
    std::vector<SimulatedRank> ranks(2);
    for (size_t i = 0; i < 2; ++i)
      ranks[i] = {{i == 0 ? &first : &second}, {makeGroup({0, 1}, i)}, {0, 1}};
    auto step = simulate(makeCluster(Routing::Direct), ranks);
    EXPECT_TRUE(step) << step.error().message();
    return step ? step->seconds : 0;
  };
  EXPECT_DOUBLE_EQ(playStages({message(false, 1, 0)}, {message(true, 0, 0)}), 11);
  EXPECT_DOUBLE_EQ(playStages({message(false, 1, 0), message(true, 1, 1)},
                              {message(false, 0, 1), message(true, 0, 0)}),
                   11);
  EXPECT_DOUBLE_EQ(playStages({message(false, 1, 0), message(false, 1, 1)},
                              {message(true, 0, 0), message(true, 0, 1, 1)}),
                   1 + 20);
  // The second one moves once the first is received, and one that was sent before once it is
  // received at all.
  EXPECT_DOUBLE_EQ(playStages({message(false, 1, 0), message(false, 1, 1)},
                              {message(true, 0, 0), message(true, 0, 1)}),
                   11 + 11);
  EXPECT_DOUBLE_EQ(playStages({message(false, 1, 0)}, {compute(20), message(true, 0, 0)}), 20 + 11);
}

TEST(SimulationTest, CollectivesMayHaveToBeginInTheOrderOfTheList) {
  Cluster cluster = makeCluster(Routing::Ring);
  // The second one needs nothing, and the first one begins after 5 s.
  TaskList list = {compute(5), gatherAlong(0, 20, {0}), gatherAlong(1, 20)};
  EXPECT_DOUBLE_EQ(playTwoAxes(cluster, list), 6 + 10 + 5);
  EXPECT_DOUBLE_EQ(playTwoAxes(cluster, list, /*inOrder=*/true), 5 + 1 + 20);
}

TEST(SimulationTest, RefusesStreamsThatWaitInACircle) {
  // Each rank's second stream waits for its first, which are two ranks' other way round.
  auto step = play({gather(20, 1), gather(20, 2, {0})}, {gather(20, 2), gather(20, 1, {0})});
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().message(),
            "rank 0: waits for rank 1 in AllGather of 20 bytes, which does not come; compile one "
            "program for both");
}

TEST(SimulationTest, ListsFollowEachOther) {
  TaskList work = {compute(1), compute(2, 1)}, nothing;
  SimulatedRank rank{{&work, &nothing, &work}, {}};
  auto step = simulate(makeCluster(Routing::Direct), std::span(&rank, 1));
  ASSERT_TRUE(step);
  EXPECT_DOUBLE_EQ(step->seconds, 4);
  EXPECT_DOUBLE_EQ(step->ranks[0].compute, 4);
  EXPECT_TRUE(step->ranks[0].spans.empty());
}

TEST(SimulationTest, NamesWhoDoesNotCome) {
  auto step = play({gather(20)}, {compute(1)});
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().message(),
            "rank 0: waits for rank 1 in AllGather of 20 bytes, which does not come; compile one "
            "program for both");
}

TEST(SimulationTest, NamesCollectivesThatDiffer) {
  auto step = play({gather(20)}, {compute(1), gather(40)});
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().message(),
            "rank 0 and rank 1: run different collectives at a time: AllGather of 20 bytes and "
            "AllGather of 40 bytes; compile one program for both");
}

TEST(SimulationTest, RefusesTasksThatWaitForThemselves) {
  TaskList list = {compute(1, 0, {1}), compute(1, 1, {0})};
  SimulatedRank rank{{&list}, {}};
  auto step = simulate(makeCluster(Routing::Direct), std::span(&rank, 1));
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().what, "rank 0");
}

} // namespace
