#include "runtime/Train/LearningRate.h"
#include "runtime/Train/LossScaler.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace sinter;
using namespace sinter::runtime;

namespace {

LearningRateSchedule make(ScheduleKind kind, uint64_t steps, uint64_t warmup = 0) {
  LearningRateSchedule schedule;
  schedule.kind = kind;
  schedule.learningRate = 1;
  schedule.minimum = 0.1;
  schedule.steps = steps;
  schedule.warmup = warmup;
  return schedule;
}

TEST(LearningRateSchedule, Warmup) {
  for (ScheduleKind kind :
       {ScheduleKind::Constant, ScheduleKind::Linear, ScheduleKind::Cosine, ScheduleKind::Wsd}) {
    LearningRateSchedule schedule = make(kind, 100, 4);
    EXPECT_EQ(schedule.at(0), 0.25);
    EXPECT_EQ(schedule.at(3), 1);
    EXPECT_EQ(schedule.at(4), 1);
  }
}

TEST(LearningRateSchedule, ConstantStays) {
  EXPECT_EQ(make(ScheduleKind::Constant, 10).at(0), 1);
  EXPECT_EQ(make(ScheduleKind::Constant, 10).at(9), 1);
}

TEST(LearningRateSchedule, LinearDecays) {
  LearningRateSchedule schedule = make(ScheduleKind::Linear, 12, 2);
  EXPECT_EQ(schedule.at(2), 1);
  EXPECT_NEAR(schedule.at(7), 0.55, 1e-12);
  EXPECT_NEAR(schedule.at(11), 0.19, 1e-12);
}

TEST(LearningRateSchedule, CosineDecays) {
  LearningRateSchedule schedule = make(ScheduleKind::Cosine, 12, 2);
  EXPECT_EQ(schedule.at(2), 1);
  EXPECT_NEAR(schedule.at(7), 0.55, 1e-12);
  EXPECT_NEAR(schedule.at(4), 0.1 + 0.45 * (1 + std::cos(0.2 * M_PI)), 1e-12);
  EXPECT_NEAR(schedule.at(11), 0.1 + 0.45 * (1 + std::cos(0.9 * M_PI)), 1e-12);
}

TEST(LearningRateSchedule, WsdIsStableThenDecays) {
  LearningRateSchedule schedule = make(ScheduleKind::Wsd, 20, 2);
  EXPECT_EQ(schedule.at(15), 1);
  EXPECT_NEAR(schedule.at(16), 0.775, 1e-12);
  EXPECT_NEAR(schedule.at(19), 0.1, 1e-12);
}

TEST(LearningRateSchedule, StaysBehindTheLastStep) {
  LearningRateSchedule schedule = make(ScheduleKind::Linear, 13);
  EXPECT_EQ(schedule.at(1000), schedule.at(12));
}

TEST(LearningRateSchedule, OneStep) {
  for (ScheduleKind kind : {ScheduleKind::Constant, ScheduleKind::Linear, ScheduleKind::Cosine})
    EXPECT_EQ(make(kind, 1).at(0), 1);
}

TEST(LearningRateSchedule, NamesAreParsed) {
  EXPECT_EQ(*parseScheduleKind("wsd"), ScheduleKind::Wsd);
  auto result = parseScheduleKind("cosin");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "`schedule` cosin: there is no such schedule; choose one of "
                                      "constant, linear, cosine, wsd");
}

TEST(LearningRateSchedule, ErrorsNameTheOption) {
  auto errorOf = [](LearningRateSchedule schedule) {
    auto checked = schedule.check();
    return checked ? "" : checked.error().what;
  };
  LearningRateSchedule good = make(ScheduleKind::Wsd, 10, 2);
  EXPECT_EQ(errorOf(good), "");
  LearningRateSchedule bad = good;
  bad.learningRate = -1;
  EXPECT_EQ(errorOf(bad), "`lr`");
  bad.learningRate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(errorOf(bad), "`lr`");
  bad = good;
  bad.minimum = 2;
  EXPECT_EQ(errorOf(bad), "`min_lr`");
  bad = good;
  bad.warmup = 10;
  EXPECT_EQ(errorOf(bad), "`warmup`");
  bad = good;
  bad.steps = 0;
  EXPECT_EQ(errorOf(bad), "`steps`");
  for (double fraction : {0.0, 0.9, 1.5}) {
    bad = good;
    bad.decayFraction = fraction;
    EXPECT_EQ(errorOf(bad), "`decay_fraction`");
  }
}

TEST(LearningRateSchedule, FollowsTheBatch) {
  EXPECT_NEAR(scaleLearningRate(1e-3, BatchScaling::Linear, 64, 16), 4e-3, 1e-15);
  EXPECT_NEAR(scaleLearningRate(1e-3, BatchScaling::Sqrt, 64, 16), 2e-3, 1e-15);
}

TEST(LossScaler, GrowsAfterTheInterval) {
  LossScaler scaler({8, 2, 0.5, 3});
  scaler.update(true);
  scaler.update(true);
  EXPECT_EQ(scaler.getScale(), 8);
  scaler.update(true);
  EXPECT_EQ(scaler.getState(), (LossScalerState{16, 0}));
}

TEST(LossScaler, BacksOffAndBeginsToCountAgain) {
  LossScaler scaler({8, 2, 0.5, 3});
  scaler.update(true);
  scaler.update(true);
  scaler.update(false);
  EXPECT_EQ(scaler.getState(), (LossScalerState{4, 0}));
  scaler.update(true);
  scaler.update(true);
  EXPECT_EQ(scaler.getScale(), 4);
  scaler.update(true);
  EXPECT_EQ(scaler.getScale(), 8);
}

TEST(LossScaler, NeverBecomesInfinite) {
  LossScaler scaler({0x1p127f, 2, 0.5, 1});
  scaler.update(true);
  EXPECT_EQ(scaler.getState(), (LossScalerState{0x1p127f, 0}));
}

TEST(LossScaler, DefaultsAreThoseOfPyTorch) {
  LossScaler scaler;
  EXPECT_EQ(scaler.getScale(), 65536);
  for (int i = 0; i < 1999; ++i)
    scaler.update(true);
  EXPECT_EQ(scaler.getScale(), 65536);
  scaler.update(true);
  EXPECT_EQ(scaler.getScale(), 131072);
}

TEST(LossScaler, KnowsWhenNoScaleHelps) {
  LossScaler scaler;
  int skipped = 0;
  for (; !scaler.isExhausted(); ++skipped)
    scaler.update(false);
  EXPECT_EQ(skipped, 41);
}

TEST(LossScaler, GoesOnFromAState) {
  LossScaler scaler({8, 2, 0.5, 3});
  scaler.restore({32, 2});
  scaler.update(true);
  EXPECT_EQ(scaler.getScale(), 64);
}

} // namespace
