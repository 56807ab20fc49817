#include "runtime/Train/LearningRate.h"
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

namespace sinter::runtime {
namespace {

constexpr std::pair<std::string_view, ScheduleKind> kinds[] = {
    {"constant", ScheduleKind::Constant},
    {"linear", ScheduleKind::Linear},
    {"cosine", ScheduleKind::Cosine},
    {"wsd", ScheduleKind::Wsd},
};

// The steps of wsd's decay.
uint64_t decaySteps(const LearningRateSchedule &schedule) {
  double wanted = std::round(schedule.decayFraction * double(schedule.steps));
  return std::max<uint64_t>(1, static_cast<uint64_t>(wanted));
}

} // namespace

Expected<ScheduleKind> parseScheduleKind(std::string_view name) {
  std::string known;
  for (const auto &[text, kind] : kinds) {
    if (text == name)
      return kind;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  return fail("`schedule` " + std::string(name), "there is no such schedule",
              "choose one of " + known);
}

Expected<void> LearningRateSchedule::check() const {
  if (!std::isfinite(learningRate) || learningRate < 0)
    return fail("`lr`", "it is negative or not finite", "give a positive number, such as 3e-4");
  if (!std::isfinite(minimum) || minimum < 0 || minimum > learningRate)
    return fail("`min_lr`", "it is negative or above `lr`", "give a number from 0 to `lr`");
  if (steps == 0)
    return fail("`steps`", "it is 0", "give a positive number");
  if (warmup != 0 && warmup >= steps)
    return fail("`warmup`",
                std::to_string(warmup) + " steps of warmup leave nothing of " +
                    std::to_string(steps) + " steps",
                "give less than `steps`");
  if (kind != ScheduleKind::Wsd)
    return {};
  if (!(decayFraction > 0 && decayFraction <= 1))
    return fail("`decay_fraction`", "it is not above 0 and at most 1", "give 0.2, for example");
  if (warmup + decaySteps(*this) > steps)
    return fail("`decay_fraction`", "warmup and decay together are longer than the run",
                "shorten `warmup` or the decay");
  return {};
}

double LearningRateSchedule::at(uint64_t step) const {
  step = std::min(step, steps - 1);
  if (step < warmup)
    return learningRate * double(step + 1) / double(warmup);
  double progress = 0; // of the decay
  switch (kind) {
  case ScheduleKind::Constant:
    return learningRate;
  case ScheduleKind::Relative:
    return std::min(learningRate, 1 / std::sqrt(double(step + 1)));
  case ScheduleKind::Linear:
  case ScheduleKind::Cosine:
    if (steps > warmup)
      progress = double(step - warmup) / double(steps - warmup);
    if (kind == ScheduleKind::Cosine)
      progress = (1 - std::cos(std::numbers::pi * progress)) / 2;
    break;
  case ScheduleKind::Wsd: {
    uint64_t decay = decaySteps(*this), begin = steps - decay;
    if (step >= begin)
      progress = double(step - begin + 1) / double(decay);
    break;
  }
  }
  return minimum + (learningRate - minimum) * (1 - progress);
}

double scaleLearningRate(double learningRate, BatchScaling scaling, uint64_t batch,
                         uint64_t reference) {
  assert(reference > 0 && "no batch to scale from");
  double ratio = double(batch) / double(reference);
  return learningRate * (scaling == BatchScaling::Linear ? ratio : std::sqrt(ratio));
}

} // namespace sinter::runtime
