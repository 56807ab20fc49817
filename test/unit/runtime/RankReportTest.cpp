#include "runtime/Cluster/RankReport.h"
#include "runtime/Collective/ThreadRanks.h"
#include "test/unit/runtime/TestExecutable.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::CollectiveKind;
using fb::Space;

namespace {

/// Two ranks that gather, then copy.
std::shared_ptr<const Executable> loadModel() {
  Parts parts;
  parts.grid = {{"data", 2}};
  Parts::Program &run = parts.programs.emplace_back();
  run.name = "run";
  run.inputBytes = 64;
  run.outputBytes = 256;
  fb::Slice x = slice(Space::Input, 0, 12), gathered = slice(Space::Output, 0, 24),
            cut = slice(Space::Output, 64, 12);
  run.inputs = {{"x", fb::DType::F32, {3}, x}};
  run.outputs = {{"gathered", fb::DType::F32, {6}, gathered}, {"cut", fb::DType::F32, {3}, cut}};
  run.commands = {collective(CollectiveKind::AllGather, {0}, x, gathered),
                  collective(CollectiveKind::AllSlice, {0}, gathered, cut)};
  return parts.load().value();
}

/// One run whose gather began at `begin`; both ranks have it at 100.
Trace makeTrace(int64_t begin, int64_t copyNs) {
  Trace trace(3);
  trace.add({0, 0, begin, 100});
  trace.add({0, 1, 100, 100 + copyNs});
  trace.add({0, TraceEvent::wholeRun, 0, 100 + copyNs});
  return trace;
}

TEST(RankReportTest, WaitsEndWhenTheLastRankComes) {
  Trace traces[] = {makeTrace(10, 5), makeTrace(80, 50)};
  RankReport report = reportRanks(traces, *loadModel());
  ASSERT_EQ(report.ranks.size(), 2u);
  EXPECT_EQ(report.groups, std::vector<std::string>{"data"});
  EXPECT_EQ(report.ranks[0].waitNs, 70);
  EXPECT_EQ(report.ranks[0].transferNs[0], 20);
  EXPECT_EQ(report.ranks[0].computeNs, 5); // what sends nothing
  EXPECT_EQ(report.ranks[0].sentBytes[0], 12u);
  EXPECT_EQ(report.ranks[1].waitNs, 0);
  EXPECT_EQ(report.ranks[1].transferNs[0], 20);
  EXPECT_EQ(report.slowest, 1u);
  ASSERT_EQ(report.arrows.size(), 1u);
  EXPECT_EQ(report.arrows[0].fromRank, 1u);
  EXPECT_EQ(report.arrows[0].toRank, 0u);
}

TEST(RankReportTest, CollectivesThatNotAllHaveAreLeftOut) {
  Trace traces[] = {makeTrace(10, 5), Trace(1)};
  RankReport report = reportRanks(traces, *loadModel());
  EXPECT_TRUE(report.arrows.empty());
  EXPECT_EQ(report.ranks[0].waitNs, 0);
  EXPECT_EQ(report.ranks[1].computeNs, 0);
}

/// Of two stages the first one sends, then the second one does what it received with.
std::shared_ptr<const Executable> loadPipeline() {
  Parts parts;
  parts.grid = {{"pipeline", 2}};
  parts.stages = {{0, 64, 1}, {0, 64, 1}};
  parts.stateBytes = 64;
  fb::Slice state = slice(Space::State, 0, 64);
  for (uint32_t stage : {0, 1}) {
    Parts::Program &run = parts.programs.emplace_back();
    run.name = "run." + std::to_string(stage) + ".forward";
    run.stage = stage;
    run.commands = stage == 0 ? std::vector{fill(state, 1), send(1, 7, state)}
                              : std::vector{receive(0, 7, state), fill(state, 2)};
  }
  return parts.load().value();
}

/// Two commands of a program: [begin, middle) and [middle, end).
Trace makeTrace(uint32_t program, int64_t begin, int64_t middle, int64_t end) {
  Trace trace(2);
  trace.add({program, 0, begin, middle});
  trace.add({program, 1, middle, end});
  return trace;
}

TEST(RankReportTest, WaitsForAMessageEndWhenItIsSent) {
  Trace traces[] = {makeTrace(0, 0, 60, 65), makeTrace(1, 10, 80, 90)};
  RankReport report = reportRanks(traces, *loadPipeline());
  EXPECT_EQ(report.groups, std::vector<std::string>{"pipeline"});
  EXPECT_EQ(report.ranks[0].computeNs, 60);
  EXPECT_EQ(report.ranks[0].transferNs[0], 5);
  EXPECT_EQ(report.ranks[0].sentBytes[0], 64u);
  EXPECT_EQ(report.ranks[1].waitNs, 50); // from 10 to 60
  EXPECT_EQ(report.ranks[1].transferNs[0], 20);
  EXPECT_EQ(report.ranks[1].sentBytes[0], 0u);
  EXPECT_EQ(report.ranks[1].computeNs, 10);
  ASSERT_EQ(report.arrows.size(), 1u);
  EXPECT_EQ(report.arrows[0].fromRank, 0u);
  EXPECT_EQ(report.arrows[0].fromEvent, 1u);
  EXPECT_EQ(report.arrows[0].toRank, 1u);
  EXPECT_EQ(report.arrows[0].toEvent, 0u);
}

TEST(RankReportTest, WhoReceivesWhatIsThereDoesNotWait) {
  Trace traces[] = {makeTrace(0, 0, 60, 65), makeTrace(1, 70, 80, 90)};
  RankReport report = reportRanks(traces, *loadPipeline());
  EXPECT_EQ(report.ranks[1].waitNs, 0);
  EXPECT_EQ(report.ranks[1].transferNs[0], 10);
  EXPECT_TRUE(report.arrows.empty());
}

TEST(RankReportTest, MessagesOfWhichTheSendingIsNotInTheTraceAreNoWaits) {
  Trace traces[] = {Trace(1), makeTrace(1, 10, 80, 90)};
  RankReport report = reportRanks(traces, *loadPipeline());
  EXPECT_EQ(report.ranks[1].waitNs, 0);
  EXPECT_EQ(report.ranks[1].transferNs[0], 70);
}

TEST(RankReportTest, TracesAreGathered) {
  auto result = runThreadRanks(3, [](Communicator &communicator) -> Expected<void> {
    Trace own(2);
    for (size_t i = 0; i < communicator.getRank(); ++i)
      own.add({0, 0, int64_t(i), int64_t(10 + communicator.getRank())});
    SINTER_TRY(std::vector<Trace> all, gatherTraces(communicator, own, /*oneClock=*/true));
    EXPECT_EQ(all.size(), 3u);
    EXPECT_TRUE(all[0].getEvents().empty());
    EXPECT_EQ(all[2].getEvents().size(), 2u);
    EXPECT_EQ(all[2].getEvents()[1].end, 12);
    return {};
  });
  EXPECT_TRUE(result);
}

TEST(RankReportTest, TraceHasAProcessARankAndArrows) {
  Trace traces[] = {makeTrace(10, 5), makeTrace(80, 50)};
  auto executable = loadModel();
  RankReport report = reportRanks(traces, *executable);
  auto path = std::filesystem::temp_directory_path() /
              ("sinter-rank-trace-" + std::to_string(getpid()) + ".json");
  ASSERT_TRUE(writeChromeTrace(path.string(), traces, report.arrows, *executable, {}));
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::filesystem::remove(path);
  for (const char *part :
       {"\"name\":\"rank 1: ", "\"ph\":\"s\",\"pid\":2", "\"ph\":\"f\",\"pid\":1"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  EXPECT_FALSE(writeChromeTrace("/absent/folder/trace.json", traces, {}, *executable, {}));
}

} // namespace
