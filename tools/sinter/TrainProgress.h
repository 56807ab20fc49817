//===- TrainProgress.h - How a run is doing ---------------------*- C++ -*-===//
#pragma once

#include "runtime/Train/Trainer.h"
#include "sinter/DeviceLimits.h"
#include <chrono>
#include <string>

namespace sinter::cli {

/// Shows the last step on standard error: step, loss, tokens/s, MFU, time left. On a terminal a bar
/// that redraws itself; else a line for the first step, the last, each evaluation, and now and then
/// between them.
class TrainProgress {
public:
  /// @param flops useful ones of a step, products of which are of `dtype`; MFU is their rate by
  /// `limits`, which outlive this.
  TrainProgress(uint64_t firstStep, uint64_t steps, double flops, DType dtype,
                DeviceLimits &limits);
  ~TrainProgress();
  TrainProgress(const TrainProgress &) = delete;
  TrainProgress &operator=(const TrainProgress &) = delete;

  void show(const runtime::StepRecord &record);

  /// Makes room for a line that is not the bar's.
  void clear();

  /// Prints such a line.
  void note(const std::string &text);

private:
  using Clock = std::chrono::steady_clock;

  uint64_t firstStep, steps;
  double flops;
  DType dtype;
  DeviceLimits &limits;
  bool terminal, drawn = false;
  Clock::time_point begin = Clock::now(), shown;
  double smoothed = 0; ///< milliseconds of a step, a running mean
};

} // namespace sinter::cli
