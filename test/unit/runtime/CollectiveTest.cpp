#include "runtime/Collective/Grid.h"
#include "runtime/Collective/ThreadRanks.h"
#include "runtime/Session/Session.h"
#include "test/unit/runtime/CollectiveChecks.h"
#include "test/unit/runtime/TestExecutable.h"
#include <atomic>
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::CollectiveKind;
using fb::Space;

namespace {

TEST(ThreadRanksTest, RunsEveryCollective) {
  for (size_t ranks : {1, 2, 3, 4, 6}) {
    auto result = runThreadRanks(ranks, checkCollectives);
    EXPECT_TRUE(result) << ranks << " ranks: " << result.error().message();
  }
}

TEST(ThreadRanksTest, FailingRankEndsTheOthers) {
  std::atomic<int> ended = 0;
  auto result = runThreadRanks(4, [&](Communicator &communicator) -> Expected<void> {
    if (communicator.getRank() == 2)
      return fail("weights", "are not there", "");
    auto met = communicator.barrier();
    EXPECT_FALSE(met);
    EXPECT_EQ(met.error().what, "rank 2");
    ++ended;
    return met;
  });
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(result.error().what, "weights");
}

TEST(ThreadRanksTest, AbandonedCollectiveFails) {
  auto result = runThreadRanks(2, [&](Communicator &communicator) -> Expected<void> {
    if (communicator.getRank() == 1)
      return {};
    std::jthread other([&] { communicator.abandon({"rank 1", "is silent", ""}); });
    return communicator.barrier();
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "rank 1: is silent");
}

/// An executable for a grid, with no programs.
std::shared_ptr<const Executable> loadGrid(std::vector<std::pair<std::string, uint64_t>> grid) {
  Parts parts;
  parts.grid = std::move(grid);
  return parts.load().value();
}

TEST(GridTest, ReadsAxesInTheirOrder) {
  auto axes = parseGrid("tensor=3,data=2");
  ASSERT_TRUE(axes);
  ASSERT_EQ(axes->size(), 2u);
  EXPECT_EQ(axes->front().name, "data");
  EXPECT_EQ(axes->front().size, 2u);
  EXPECT_EQ(axes->back().name, "tensor");
  EXPECT_TRUE(parseGrid("")->empty());
}

TEST(GridTest, ReadsRowsAndColumns) {
  auto axes = parseGrid("tensor=2x4,context=3");
  ASSERT_TRUE(axes);
  std::vector<std::pair<std::string, size_t>> expected = {
      {"context", 3}, {"tensor.rows", 2}, {"tensor.columns", 4}};
  ASSERT_EQ(axes->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(std::pair((*axes)[i].name, (*axes)[i].size), expected[i]);
  EXPECT_EQ(describeGrid(
                loadGrid({{"context", 3}, {"tensor.rows", 2}, {"tensor.columns", 4}})->getRoot()),
            "context=3,tensor=2x4");
}

TEST(GridTest, ReadsDepth) {
  auto axes = parseGrid("tensor=2x3x4");
  ASSERT_TRUE(axes);
  std::vector<std::pair<std::string, uint64_t>> found;
  for (const GridAxis &axis : *axes)
    found.emplace_back(axis.name, axis.size);
  std::vector<std::pair<std::string, uint64_t>> expected = {
      {"tensor.depth", 2}, {"tensor.rows", 3}, {"tensor.columns", 4}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(describeGrid(loadGrid(expected)->getRoot()), "tensor=2x3x4");
}

TEST(GridTest, RefusesWhatIsNoGrid) {
  auto why = [](std::string_view text) { return parseGrid(text).error().message(); };
  const std::string form = " is not of the form AXIS=N; write data=2,tensor=2, for example";
  EXPECT_EQ(why("data"), "`grid` data: 'data'" + form);
  EXPECT_EQ(why("data="), "`grid` data=: 'data='" + form);
  EXPECT_EQ(why("data=0"), "`grid` data=0: 'data=0'" + form);
  EXPECT_EQ(why("data=-1"), "`grid` data=-1: 'data=-1'" + form);
  EXPECT_EQ(why("data=2x"), "`grid` data=2x: 'data=2x'" + form);
  EXPECT_EQ(why("data=2,,tensor=2"), "`grid` data=2,,tensor=2: ''" + form);
  EXPECT_EQ(why("data=99999999999999999999"),
            "`grid` data=99999999999999999999: 'data=99999999999999999999'" + form);
  for (std::string_view text : {"tensor=2x", "tensor=x2", "tensor=2x0", "tensor=2x2x2x2"})
    EXPECT_EQ(why(text), "`grid` " + std::string(text) + ": '" + std::string(text) +
                             "' is not of the form tensor=N, tensor=RxC or tensor=DxRxC; write "
                             "data=2,tensor=2, for example");
  EXPECT_EQ(why("data=2x2"), "`grid` data=2x2: 'data=2x2'" + form);
  EXPECT_EQ(why("tensor=2x2,tensor=2"),
            "`grid` tensor=2x2,tensor=2: the axis 'tensor' is there twice; give it once");
  EXPECT_EQ(why("tensor.rows=2"), "`grid` tensor.rows=2: there is no axis 'tensor.rows'; axes are "
                                  "data, tensor, pipeline and context");
  EXPECT_EQ(why("model=2"), "`grid` model=2: there is no axis 'model'; axes are data, tensor, "
                            "pipeline and context");
  EXPECT_EQ(why("data=2,data=2"),
            "`grid` data=2,data=2: the axis 'data' is there twice; give it once");
  EXPECT_EQ(why("data=2048,tensor=2048"), "`grid` data=2048,tensor=2048: there are more than "
                                          "1048576 ranks; give fewer");
}

TEST(GridTest, FindsPlacesAndGroups) {
  auto executable = loadGrid({{"data", 2}, {"tensor", 3}});
  const fb::Executable &root = executable->getRoot();
  EXPECT_EQ(countRanks(root), 6u);
  EXPECT_EQ(countRanks(root, "tensor"), 3u);
  EXPECT_EQ(countRanks(root, "pipeline"), 1u);
  EXPECT_EQ(describeGrid(root), "data=2,tensor=3");
  EXPECT_EQ(findPlace(root, "data", 4), 1u);
  EXPECT_EQ(findPlace(root, "tensor", 4), 1u);
  EXPECT_EQ(findPlace(root, "context", 4), 0u);
  auto group = [&](std::vector<uint32_t> axes, size_t rank) { return findGroup(root, axes, rank); };
  EXPECT_EQ(group({0}, 4).ranks, (std::vector<size_t>{1, 4}));
  EXPECT_EQ(group({0}, 4).place, 1u);
  EXPECT_EQ(group({1}, 4).ranks, (std::vector<size_t>{3, 4, 5}));
  EXPECT_EQ(group({1}, 4).place, 1u);
  EXPECT_EQ(group({0, 1}, 4).ranks, (std::vector<size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(group({0, 1}, 4).place, 4u);
  // The last axis counts fastest.
  EXPECT_EQ(group({1, 0}, 4).ranks, (std::vector<size_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(group({1, 0}, 4).place, 3u);
  for (size_t rank = 0; rank < 6; ++rank)
    for (const std::vector<uint32_t> &axes : {std::vector<uint32_t>{0}, {1}, {0, 1}, {1, 0}}) {
      RankGroup found = group(axes, rank);
      EXPECT_EQ(found.ranks[found.place], rank);
    }
}

constexpr uint64_t part = 12; // bytes: three floats

/// On a grid of 2 x 2: `x` of each rank, gathered along the last axis, exchanged along the first
/// one, added over both and cut along the last one.
Parts collectiveModel() {
  Parts parts;
  parts.grid = {{"data", 2}, {"tensor", 2}};
  Parts::Program &run = parts.programs.emplace_back();
  run.name = "run";
  run.inputBytes = 64;
  run.outputBytes = 256;
  fb::Slice x = slice(Space::Input, 0, part), gathered = slice(Space::Output, 0, 2 * part),
            exchanged = slice(Space::Output, 64, 2 * part), sum = slice(Space::Output, 128, part),
            cut = slice(Space::Output, 192, part);
  run.inputs = {{"x", fb::DType::F32, {3}, x}};
  run.outputs = {{"gathered", fb::DType::F32, {6}, gathered},
                 {"exchanged", fb::DType::F32, {6}, exchanged},
                 {"sum", fb::DType::F32, {3}, sum},
                 {"cut", fb::DType::F32, {3}, cut}};
  run.commands = {collective(CollectiveKind::AllGather, {1}, x, gathered),
                  collective(CollectiveKind::AllToAll, {0}, gathered, exchanged),
                  collective(CollectiveKind::AllReduce, {0, 1}, x, sum),
                  collective(CollectiveKind::AllSlice, {1}, gathered, cut)};
  return parts;
}

TEST(CollectiveCommandTest, RunsOnRanks) {
  auto executable = collectiveModel().load();
  ASSERT_TRUE(executable) << executable.error().message();
  auto result = runThreadRanks(4, [&](Communicator &communicator) -> Expected<void> {
    BindOptions options;
    options.threads = 1;
    options.communicator = &communicator;
    SINTER_TRY(std::unique_ptr<Session> session, Session::bind(*executable, options));
    SINTER_TRY(size_t run, session->program("run"));
    auto valueOf = [](size_t rank, size_t i) { return float(100 * rank + i); };
    auto x = session->input(run, "x", DType::F32)->as<float>();
    for (size_t i = 0; i < 3; ++i)
      x[i] = valueOf(communicator.getRank(), i);
    SINTER_CHECK(session->run(run));
    auto output = [&](const char *name) {
      auto values = session->output(run, name, DType::F32)->as<float>();
      return std::vector<float>(values.begin(), values.end());
    };
    size_t rank = communicator.getRank(), row = rank / 2 * 2;
    std::vector<float> gathered, exchanged, sum, cut;
    for (size_t i = 0; i < 6; ++i) {
      gathered.push_back(valueOf(row + i / 3, i % 3));
      // Part r of what ranks 0 and 1, or 2 and 3, gathered: x of rank r of either row.
      exchanged.push_back(valueOf(i / 3 * 2 + rank / 2, i % 3));
    }
    for (size_t i = 0; i < 3; ++i) {
      sum.push_back(float(600 + 4 * i));
      cut.push_back(valueOf(rank, i));
    }
    EXPECT_EQ(output("gathered"), gathered);
    EXPECT_EQ(output("exchanged"), exchanged);
    EXPECT_EQ(output("sum"), sum);
    EXPECT_EQ(output("cut"), cut);
    return {};
  });
  EXPECT_TRUE(result) << result.error().message();
}

TEST(CollectiveCommandTest, RefusesAnotherNumberOfRanks) {
  auto grid = collectiveModel().load().value();
  auto one = smallModel().load().value();
  EXPECT_EQ(Session::bind(grid).error().message(),
            "test.sinter: was compiled for 4 ranks (data=2,tensor=2), and 1 rank runs it; give "
            "`ranks` 4");
  auto result = runThreadRanks(2, [&](Communicator &communicator) -> Expected<void> {
    BindOptions options;
    options.communicator = &communicator;
    EXPECT_EQ(Session::bind(grid, options).error().message(),
              "test.sinter: was compiled for 4 ranks (data=2,tensor=2), and 2 ranks run it; give "
              "`ranks` 4");
    EXPECT_EQ(Session::bind(one, options).error().message(),
              "test.sinter: was compiled for 1 rank, and 2 ranks run it; give a `grid` that says "
              "what each does, data=2 for example");
    return {};
  });
  EXPECT_TRUE(result);
}

TEST(CollectiveCommandTest, RefusesDifferentExecutables) {
  Parts parts = collectiveModel();
  auto executable = parts.load().value();
  parts.seed = 8;
  auto other = parts.load().value();
  auto result = runThreadRanks(4, [&](Communicator &communicator) -> Expected<void> {
    BindOptions options;
    options.threads = 1;
    options.communicator = &communicator;
    auto session = Session::bind(communicator.getRank() == 3 ? other : executable, options);
    EXPECT_FALSE(session);
    EXPECT_EQ(session.error().why, "rank 3 runs another executable than rank 0");
    return {};
  });
  EXPECT_TRUE(result);
}

/// Why an executable of one collective is refused.
std::string refusal(Parts::Command command) {
  Parts parts = collectiveModel();
  parts.programs[0].commands = {std::move(command)};
  auto loaded = parts.load();
  return loaded ? "" : loaded.error().why;
}

TEST(CollectiveVerifierTest, RefusesWrongCollectives) {
  auto input = [](uint64_t bytes) { return slice(Space::Input, 0, bytes); };
  auto output = [](uint64_t bytes) { return slice(Space::Output, 0, bytes); };
  auto gather = CollectiveKind::AllGather, toAll = CollectiveKind::AllToAll,
       cut = CollectiveKind::AllSlice, reduce = CollectiveKind::AllReduce;
  EXPECT_EQ(refusal(collective(gather, {1}, input(12), output(24))), "");
  EXPECT_EQ(refusal(collective(static_cast<CollectiveKind>(9), {1}, input(12), output(24))),
            "is a collective of no known kind");
  EXPECT_EQ(refusal(collective(gather, {}, input(12), output(12))), "is split along no axis");
  EXPECT_EQ(refusal(collective(gather, {2}, input(12), output(24))),
            "is split along axis 2, which is not there or twice");
  EXPECT_EQ(refusal(collective(gather, {1, 1}, input(12), output(48))),
            "is split along axis 1, which is not there or twice");
  EXPECT_EQ(refusal(collective(gather, {1}, input(12), output(36))),
            "gathers slices of sizes that do not fit 2 ranks");
  EXPECT_EQ(refusal(collective(gather, {1}, input(12), output(25))),
            "gathers slices of sizes that do not fit 2 ranks");
  EXPECT_EQ(refusal(collective(toAll, {0}, input(12), output(24))),
            "exchanges slices of sizes that do not fit 2 ranks");
  EXPECT_EQ(refusal(collective(toAll, {0}, input(13), output(13))),
            "exchanges slices of sizes that do not fit 2 ranks");
  EXPECT_EQ(refusal(collective(cut, {0}, input(12), output(12))),
            "takes a part of a size that does not fit 2 ranks");
  EXPECT_EQ(refusal(collective(cut, {0}, input(13), output(6))),
            "takes a part of a size that does not fit 2 ranks");
  const std::string sums = "adds slices of another type than f32 and f64, or of unlike sizes";
  EXPECT_EQ(refusal(collective(reduce, {0}, input(12), output(12), fb::DType::BF16)), sums);
  EXPECT_EQ(refusal(collective(reduce, {0}, input(12), output(24))), sums);
  EXPECT_EQ(refusal(collective(reduce, {0}, input(12), output(12), fb::DType::F64)), sums);
  EXPECT_EQ(refusal(collective(gather, {1}, slice(Space::Output, 0, 12), output(24))),
            "moves a slice to one that overlaps it");
  EXPECT_EQ(refusal(collective(gather, {1}, input(128), output(256))),
            "source [0, +128) leaves its space of 64 bytes");
  EXPECT_NE(refusal(collective(gather, {1}, slice(Space::Output, 0, 12), input(24))), "");
}

TEST(CollectiveVerifierTest, RefusesWrongGrids) {
  auto why = [](std::vector<std::pair<std::string, uint64_t>> grid) {
    Parts parts;
    parts.grid = std::move(grid);
    auto loaded = parts.load();
    return loaded ? "" : loaded.error().why;
  };
  const std::string names = "has two axes of one name, or one of none",
                    ranks = "is for a grid of no ranks, or of more than 1048576";
  EXPECT_EQ(why({{"data", 1 << 20}}), "");
  EXPECT_EQ(why({{"data", 2}, {"data", 2}}), names);
  EXPECT_EQ(why({{"", 2}}), names);
  EXPECT_EQ(why({{"data", 0}}), ranks);
  EXPECT_EQ(why({{"data", (1 << 20) + 1}}), ranks);
  EXPECT_EQ(why({{"data", 1 << 20}, {"tensor", 2}}), ranks);
  EXPECT_EQ(why({{"data", uint64_t(1) << 63}, {"tensor", 2}}), ranks);
}

TEST(CollectiveVerifierTest, RefusesWrongShardings) {
  auto why = [](std::vector<int64_t> shape, std::vector<int64_t> whole,
                std::vector<std::vector<uint32_t>> sharding) {
    Parts parts;
    parts.grid = {{"data", 2}, {"tensor", 3}};
    parts.stateBytes = 64;
    uint64_t bytes = 4;
    for (int64_t extent : shape)
      bytes *= static_cast<uint64_t>(extent);
    Parts::Tensor state = {"w", fb::DType::F32, shape, slice(Space::State, 0, bytes)};
    state.whole = std::move(whole);
    state.sharding = std::move(sharding);
    parts.states = {state};
    auto loaded = parts.load();
    return loaded ? "" : loaded.error().why;
  };
  EXPECT_EQ(why({2, 5}, {4, 5}, {{0}, {}}), "");
  EXPECT_EQ(why({1, 5}, {5, 5}, {{0, 1}, {}}), ""); // rank 5 has nothing
  EXPECT_NE(why({2, 5}, {4, 5}, {{0}}).find("does not say of each dimension"), std::string::npos);
  EXPECT_NE(why({2, 5}, {4}, {{0}, {}}).find("does not say of each dimension"), std::string::npos);
  EXPECT_NE(why({2, 5}, {}, {{0}, {}}).find("does not say of each dimension"), std::string::npos);
  EXPECT_NE(why({2, 5}, {6, 5}, {{0}, {}}).find("has parts of 2 of 6"), std::string::npos);
  EXPECT_NE(why({2, 5}, {4, 6}, {{0}, {}}).find("has parts of 5 of 6"), std::string::npos);
  EXPECT_NE(why({2, 5}, {-4, 5}, {{0}, {}}).find("of no possible shape"), std::string::npos);
  EXPECT_NE(why({2, 5}, {4, 5}, {{2}, {}}).find("along axis 2"), std::string::npos);
}

TEST(CollectiveVerifierTest, RefusesStatesThatAreNoPartOfTheirTensor) {
  auto why = [](std::vector<int64_t> shape, std::vector<int64_t> offset) {
    Parts parts;
    parts.stateBytes = 64;
    Parts::Tensor state = {"w[0:2, 3:8]", fb::DType::F32, {2, 5}, slice(Space::State, 0, 40)};
    state.boxOf = "w";
    state.boxShape = std::move(shape);
    state.boxOffset = std::move(offset);
    parts.states = {state};
    auto loaded = parts.load();
    return loaded ? "" : loaded.error().why;
  };
  EXPECT_EQ(why({2, 8}, {0, 3}), "");
  for (const auto &[shape, offset] :
       {std::pair(std::vector<int64_t>{2, 8}, std::vector<int64_t>{0, 4}),
        {{2, 8}, {0, -1}},
        {{2, 8}, {3}},
        {{10}, {0}},
        {{2, 4}, {0, 0}},
        {{2, INT64_MAX}, {0, INT64_MAX - 3}}})
    EXPECT_NE(why(shape, offset).find("is no part of its tensor"), std::string::npos);
}

} // namespace
