//===- PipelineExecutableTest.cpp - What an executable says of its stages ---===//

#include "runtime/Collective/Grid.h"
#include "runtime/Format/PipelineStages.h"
#include "test/unit/runtime/TestExecutable.h"
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using fb::Space;

namespace {

/// Two stages of two places, each with a state of 64 bytes and slots behind it.
Parts twoStages() {
  Parts parts;
  parts.grid = {{"pipeline", 2}, {"tensor", 2}};
  parts.stages = {{64, 128, 3}, {64, 64, 1}};
  parts.stateBytes = 192;
  fb::Slice state = slice(Space::State, 0, 64);
  parts.states = {{"a", fb::DType::F32, {16}, state}, {"b", fb::DType::F32, {16}, state}};
  parts.states[1].stage = 1;
  parts.programs.resize(2);
  parts.programs[0].name = "f.0.forward";
  parts.programs[0].commands = {send(1, 0, slice(Space::State, 128, 64))};
  parts.programs[1].name = "f.1.forward";
  parts.programs[1].stage = 1;
  parts.programs[1].commands = {receive(0, 0, slice(Space::State, 64, 64))};
  return parts;
}

std::string whyNot(const Parts &parts) {
  auto executable = parts.load();
  return executable ? "" : executable.error().message();
}

TEST(PipelineExecutableTest, SaysWhoRunsWhatAndWhere) {
  auto executable = twoStages().load();
  ASSERT_TRUE(executable) << executable.error().message();
  const fb::Executable &root = (*executable)->getRoot();
  EXPECT_EQ(countStages(root), 2u);
  EXPECT_EQ(countSlots(root, 0), 3u);
  EXPECT_EQ(stateBytesOf(root, 0), 64u + 3 * 128);
  EXPECT_EQ(stateBytesOf(root, 1), 128u);
  EXPECT_EQ(offsetInSlot(root, 0, 32, 2), 32u) << "a state is there once";
  EXPECT_EQ(offsetInSlot(root, 0, 80, 2), 80u + 2 * 128);
  // Ranks 0 and 1 are at place 0 of the pipeline, 2 and 3 at place 1.
  EXPECT_EQ(findRankOfStage(root, 1, 1), 3u);
  EXPECT_EQ(findRankOfStage(root, 0, 2), 0u);
  EXPECT_EQ(countStages((*smallModel().load())->getRoot()), 0u);
  EXPECT_EQ(countSlots((*smallModel().load())->getRoot(), 0), 1u);
}

TEST(PipelineExecutableTest, RefusesStagesThatCannotBe) {
  auto expect = [](const Parts &parts, const std::string &why) {
    EXPECT_NE(whyNot(parts).find(why), std::string::npos) << whyNot(parts);
  };
  Parts parts = twoStages();
  parts.stages.pop_back();
  expect(parts, "has 1 stages for 2 places of a pipeline");
  parts = twoStages();
  parts.stages.clear();
  expect(parts, "has 0 stages for 2 places of a pipeline");
  parts = twoStages();
  parts.grid = {};
  expect(parts, "has 2 stages for 1 places of a pipeline");
  parts = twoStages();
  parts.stages[0].slots = 0;
  expect(parts, "has a stage 0 with no possible slots");
  parts.stages[0] = {64, uint64_t(1) << 45, 1 << 19};
  expect(parts, "has a stage 0 with no possible slots");
  parts.stages[0] = {64, 256, 1};
  expect(parts, "has a stage 0 with no possible slots");
}

TEST(PipelineExecutableTest, RefusesProgramsAndStatesOfOtherStages) {
  auto expect = [](const Parts &parts, const std::string &why) {
    EXPECT_NE(whyNot(parts).find(why), std::string::npos) << whyNot(parts);
  };
  Parts parts = twoStages();
  parts.programs[1].stage = 2;
  expect(parts, "program 'f.1.forward': is of a stage that is not there");
  parts = twoStages();
  parts.programs[1].commands = {receive(1, 0, slice(Space::State, 64, 64))};
  expect(parts, "is between ranks of stage 1, which is not there or their own");
  parts.programs[1].commands = {receive(7, 0, slice(Space::State, 64, 64))};
  expect(parts, "is between ranks of stage 7, which is not there or their own");
  parts.programs[1].commands = {receive(0, 0, slice(Space::State, 128, 64))};
  expect(parts, "leaves its space of 128 bytes");
  parts.programs[1].commands = {receive(0, 0, slice(Space::Constant, 0, 0))};
  expect(parts, "lies in a space that is only read here");
  parts = twoStages();
  parts.states[1].stage = 0;
  expect(parts, "binding 'b' overlaps 'a'");
  parts.states[1].stage = 2;
  expect(parts, "binding 'b' is of a stage that is not there, or reaches into its slots");
  parts = twoStages();
  parts.states[1].slice = slice(Space::State, 64, 64);
  expect(parts, "binding 'b' is of a stage that is not there, or reaches into its slots");
}

} // namespace
