#include "runtime/Train/PipelineSchedule.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace sinter;
using namespace sinter::runtime;

namespace {

using enum PipelinePass;

PipelineShape shape(PipelineSchedule schedule, uint32_t places, uint64_t microbatches) {
  return {schedule, places, places * PipelineShape::stagesOfPlace(schedule), microbatches};
}

constexpr PipelineSchedule allSchedules[] = {
    PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward, PipelineSchedule::Interleaved,
    PipelineSchedule::ZeroBubble};

/// "F0 F1 B0", with the stage before it where a place has several.
std::string write(const PipelineShape &shape, uint32_t place) {
  std::string text;
  for (const PipelineTask &task : shape.tasksAt(place)) {
    std::string stage = shape.stages > shape.places ? std::to_string(task.stage) : "";
    text += (text.empty() ? "" : " ") + stage + "FBW"[static_cast<size_t>(task.pass)] +
            std::to_string(task.microbatch);
  }
  return text;
}

TEST(PipelineScheduleTest, OrdersPassesAsTheirPapersDo) {
  EXPECT_EQ(write(shape(PipelineSchedule::GPipe, 3, 4), 0), "F0 F1 F2 F3 B0 B1 B2 B3");
  PipelineShape oneForwardOneBackward = shape(PipelineSchedule::OneForwardOneBackward, 3, 4);
  EXPECT_EQ(write(oneForwardOneBackward, 0), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(write(oneForwardOneBackward, 1), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(write(oneForwardOneBackward, 2), "F0 B0 F1 B1 F2 B2 F3 B3");
  PipelineShape interleaved = shape(PipelineSchedule::Interleaved, 2, 4);
  EXPECT_EQ(write(interleaved, 0),
            "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3");
  EXPECT_EQ(write(interleaved, 1),
            "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
  PipelineShape zeroBubble = shape(PipelineSchedule::ZeroBubble, 2, 3);
  EXPECT_EQ(write(zeroBubble, 0), "F0 F1 B0 W0 F2 B1 W1 B2 W2");
  EXPECT_EQ(write(zeroBubble, 1), "F0 B0 F1 B1 W0 F2 B2 W1 W2");
}

// What a stage adds gradients in is one order in all schedules.
TEST(PipelineScheduleTest, TakesEveryPassOnceAndInTheOrderOfMicrobatches) {
  for (PipelineSchedule schedule : allSchedules)
    for (uint32_t places : {1, 2, 3, 4})
      for (uint64_t microbatches : {4, 12}) {
        PipelineShape own = shape(schedule, places, microbatches);
        if (!own.check())
          continue;
        std::map<std::pair<uint32_t, PipelinePass>, uint64_t> next;
        for (uint32_t place = 0; place < places; ++place)
          for (const PipelineTask &task : own.tasksAt(place)) {
            EXPECT_EQ(task.stage % places, place);
            EXPECT_EQ(task.microbatch, (next[{task.stage, task.pass}]++));
            if (task.pass == Backward)
              EXPECT_GT((next[{task.stage, Forward}]), task.microbatch);
            if (task.pass == Weights)
              EXPECT_GT((next[{task.stage, Backward}]), task.microbatch);
          }
        size_t passes = schedule == PipelineSchedule::ZeroBubble ? 3 : 2;
        EXPECT_EQ(next.size(), own.stages * passes);
        for (const auto &[pass, count] : next)
          EXPECT_EQ(count, microbatches);
      }
}

TEST(PipelineScheduleTest, HasAsManyInFlightAsItNeeds) {
  for (uint32_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(shape(PipelineSchedule::GPipe, 4, 12).slotsOf(stage), 12u);
    EXPECT_EQ(shape(PipelineSchedule::OneForwardOneBackward, 4, 12).slotsOf(stage), 4 - stage);
    // What weights' gradients wait for comes on top.
    EXPECT_EQ(shape(PipelineSchedule::ZeroBubble, 4, 12).slotsOf(stage), 4u);
  }
}

TEST(PipelineScheduleTest, RefusesTooFewMicrobatches) {
  auto few = shape(PipelineSchedule::GPipe, 4, 3).check();
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().message(), "`accumulate`: 3 microbatches a rank: keep no 4 stages of a "
                                   "pipeline busy; give 4 or more of them");
  auto uneven = shape(PipelineSchedule::Interleaved, 4, 6).check();
  ASSERT_FALSE(uneven);
  EXPECT_EQ(uneven.error().message(), "`accumulate`: 6 microbatches a rank: interleaved stages "
                                      "take 4 at a time; give a multiple of 4");
  EXPECT_TRUE(shape(PipelineSchedule::OneForwardOneBackward, 4, 6).check());
}

TEST(PipelineScheduleTest, KnowsSchedulesByName) {
  EXPECT_EQ(*parsePipelineSchedule(""), PipelineSchedule::OneForwardOneBackward);
  EXPECT_EQ(*parsePipelineSchedule("zero-bubble"), PipelineSchedule::ZeroBubble);
  auto unknown = parsePipelineSchedule("2f2b");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message(), "`pipeline_schedule` 2f2b: is not known; give gpipe, 1f1b, "
                                       "interleaved or zero-bubble");
}

} // namespace
