//===- Plan.h - Memory and time of a step, without running it ---*- C++ -*-===//
#pragma once

#include "sinter/Layout.h"
#include <nlohmann/json_fwd.hpp>

namespace sinter {

struct PlanOptions : PlannedStep {
  /// Of training: looks for the most rows of a microbatch that fit the memory budget.
  bool findBatch = false;
  LayoutOptions where;
};

/// The memory plan of a step as JSON: the compiler's report (compiler/Executable/MemoryReport.h)
/// with what only the runtime knows: the library's scratch, code in whole pages, random weights on
/// their way, what a trainer holds beside its step, and the process; with findBatch also "batch",
/// "plans" (how many were made) and "next_planned_bytes" (what one row more would take). And
/// "prediction", what the step is predicted to take (sinter/Prediction.h), with the memory of a
/// device, "device_bytes"; and where a layout was looked for "layouts" (sinter/Layout.h).
/// Fails where no plan is within the memory budget, or the cluster is none for it.
Expected<nlohmann::json> planStep(const Model &model, PlanOptions options);

/// What the compiler decided on a step's fusions, layouts and libraries, in its order.
Expected<std::vector<Decision>> explain(const Model &model, StepModeOptions options);

} // namespace sinter
