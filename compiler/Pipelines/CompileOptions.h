//===- CompileOptions.h - What a model is compiled for ----------*- C++ -*-===//
#pragma once

#include "compiler/Autodiff/OptimizerOptions.h"
#include "compiler/Precision/PrecisionOptions.h"

namespace sinter {

/// What the compiler has to know of a training run. What changes from step to step (the learning
/// rate, the weight of a token) is an input of the step instead.
struct TrainingOptions : OptimizerOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "compiler/Pipelines/TrainingOptions.def"

  static constexpr uint64_t kLeastArena = 1; ///< see arenaBudget

  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
    OptimizerOptions::visit(self, visitor);
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "compiler/Pipelines/TrainingOptions.def"
  }

  /// Checks each option, and that they go together.
  Expected<void> check() const {
    SINTER_CHECK(checkOptions(*this));
    const TrainingOptions usual;
    if (fp8 != "history" && (fp8History != usual.fp8History || fp8Margin != usual.fp8Margin))
      return fail(fp8History != usual.fp8History ? "`fp8_history`" : "`fp8_margin`",
                  "is of scales of a history, and `fp8` is " + fp8,
                  "give `fp8` history, or leave it out");
    return OptimizerOptions::check();
  }
};

/// What to compile a model for.
struct CompileOptions : PrecisionOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "compiler/Pipelines/CompileOptions.def"

  TrainingOptions training; ///< of train_step and evaluate

  /// The options themselves, without those of training.
  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
    PrecisionOptions::visit(self, visitor);
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "compiler/Pipelines/CompileOptions.def"
  }

  // What is compiled for where an option is not set.
  const char *getTarget() const { return target.empty() ? "cpu" : target.c_str(); }
  int64_t getMaxSequence() const { return maxSequence ? maxSequence : 1024; }
  bool isGpu() const { return target.starts_with("cuda:"); }
};

} // namespace sinter
