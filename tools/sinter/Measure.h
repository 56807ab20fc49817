//===- Measure.h - Repeating a step of a model ------------------*- C++ -*-===//
#pragma once

#include "runtime/Train/Trainer.h"
#include "tools/sinter/Mode.h"
#include "tools/sinter/Runner.h"

namespace sinter::cli {

/// How often a step is repeated.
struct Repetition {
  int64_t warmup = 3;
  int64_t iterations = 20;
};

/// Milliseconds of every repetition of the mode's step: a whole prefill of --seq tokens from an
/// empty cache, or one decode step after --context positions, in all slots alike. The tokens are
/// made from the seed. `beforeCounted` is called once after the warm-up.
Expected<std::vector<double>> measure(
    Runner &runner, const ModeOptions &mode, const Repetition &repetition, uint64_t seed,
    const std::function<void()> &beforeCounted = [] {});

/// Milliseconds of every repetition of a training step: all its microbatches and the update.
Expected<std::vector<double>> measureTraining(
    runtime::Trainer &trainer, const Repetition &repetition,
    const std::function<void()> &beforeCounted = [] {});

} // namespace sinter::cli
