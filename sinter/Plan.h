//===- Plan.h - The memory of a step, without running it --------*- C++ -*-===//
#pragma once

#include "sinter/StepMode.h"

namespace sinter {

struct PlanOptions : StepModeOptions {
  /// Of training: looks for the most rows of a microbatch that fit the memory budget.
  bool findBatch = false;
  int64_t saveEvery = 0;  ///< of a training run: steps between checkpoints
  bool validates = false; ///< a training run has validation data
};

/// The memory plan of a step as JSON: the compiler's report (compiler/Executable/MemoryReport.h)
/// with what only the runtime knows: the library's scratch, code in whole pages, random weights on
/// their way, what a trainer holds beside its step, and the process; with findBatch also "batch",
/// "plans" (how many were made) and "next_planned_bytes" (what one row more would take).
/// Fails where no plan is within the memory budget.
Expected<std::string> planMemory(const Model &model, PlanOptions options);

/// What the compiler decided on a step's fusions, layouts and libraries, in its order.
Expected<std::vector<Decision>> explain(const Model &model, StepModeOptions options);

} // namespace sinter
