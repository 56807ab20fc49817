//===- Measure.h - Repeating a step of a model ------------------*- C++ -*-===//
#pragma once

#include "sinter/Runner.h"
#include "sinter/StepMode.h"

namespace sinter {

/// How often a step is repeated.
struct Repetition {
  int64_t warmup = 3;
  int64_t iterations = 20;
};

/// Milliseconds of every repetition of the mode's step: a whole prefill of mode.sequence
/// tokens from an empty cache, or one decode step after mode.context positions, in all slots alike.
/// The tokens are made from the seed. `beforeCounted` is called once after the warm-up.
Expected<std::vector<double>> measure(
    Runner &runner, const StepModeOptions &options, const Repetition &repetition,
    const std::function<void()> &beforeCounted = [] {});

/// Milliseconds of every repetition of a training step: all its microbatches and the update.
Expected<std::vector<double>> measureTraining(
    runtime::Trainer &trainer, const Observer &observer, const Repetition &repetition,
    const std::function<void()> &beforeCounted = [] {});

} // namespace sinter
