//===- LearningRateSchedule.h - The learning rate of each step --*- C++ -*-===//
//
// With lr the peak, min the floor, W the warmup and N all steps (s from 0 to N - 1):
//
//   s < W      lr * (s + 1) / W                                   every schedule begins so
//   constant   lr
//   linear     min + (lr - min) * (1 - p)                         p = (s - W) / (N - W)
//   cosine     min + (lr - min) * (1 + cos(pi * p)) / 2           the same p
//   wsd        lr until the decay begins at step N - D, then      D = decayFraction * N, at least 1
//              min + (lr - min) * (1 - q)                         q = (s - (N - D) + 1) / D
//
// linear and cosine would be at `min` at step N, one behind the last; wsd (warmup, stable, decay)
// is there at the last. `Relative` is no schedule that one asks for: the rate that Adafactor's step
// itself takes (Shazeer and Stern, "Adafactor", 2018, section 8), min(lr, 1 / sqrt(s + 1)).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <string_view>

namespace sinter::runtime {

enum class ScheduleKind { Constant, Linear, Cosine, Wsd, Relative };

/// The schedule called "constant", "linear", "cosine" or "wsd"; an error that lists them for any
/// other name.
Expected<ScheduleKind> parseScheduleKind(std::string_view name);

struct LearningRateSchedule {
  ScheduleKind kind = ScheduleKind::Constant;
  double learningRate = 3e-4; ///< the peak
  double minimum = 0;
  uint64_t warmup = 0;        ///< steps
  uint64_t steps = 1;         ///< of the whole run
  double decayFraction = 0.2; ///< of the steps, for wsd

  /// Fails, naming the option, where a rate is negative or not finite, the floor is above the peak,
  /// the warmup takes all steps, or the decay and the warmup overlap.
  Expected<void> check() const;

  /// The learning rate of step `step`. Behind the last step it stays as it was there.
  double at(uint64_t step) const;
};

/// How a learning rate that was found for one batch follows another.
enum class BatchScaling { Linear, Sqrt };

/// `learningRate` times batch / reference or its square root. @pre reference > 0
double scaleLearningRate(double learningRate, BatchScaling scaling, uint64_t batch,
                         uint64_t reference);

} // namespace sinter::runtime
