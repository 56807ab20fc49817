//===- Prediction.h - What a step takes on a cluster ------------*- C++ -*-===//
//
// A step of all ranks, played as events (runtime/Cluster/Simulation.h) over the commands of an
// executable. What a command takes is the cost model's time on the machine that it was compiled
// for, scaled to the cluster's device: by the rates of products where those bound it, else by those
// of the memory, and divided by the device's efficiency.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Cluster/Simulation.h"
#include "sinter/StepMode.h"
#include <nlohmann/json_fwd.hpp>

namespace sinter {

/// A step that was played.
struct StepPrediction {
  runtime::StepTime time;
  std::vector<std::string> groups; ///< of ranks that have collectives: "data", "data,tensor"
  std::vector<std::string> names;  ///< of spans: "model.layers.0, forward"
  /// Ranks that take the same times, the first of which has spans.
  std::vector<std::vector<size_t>> alike;
};

/// Plays the runs of every rank that the executable is for, by rank. `compiled` says what it was
/// compiled for. Fails where the cluster has fewer devices than there are ranks.
Expected<StepPrediction> predictStep(const runtime::Executable &executable,
                                     const std::vector<ProgramRuns> &runs,
                                     const CompileOptions &compiled,
                                     const runtime::Cluster &cluster);

/// What `sinter plan` says of it, as JSON:
///   { "cluster": NAME, "source": TEXT, "ranks": N, "step_ms": , "compute_ms": , "wait_ms": ,
///     "exposed_ms": { AXES:  }, "sent_bytes": { AXES:  }, "slowest_rank": ,
///     "timeline": { "names": [], "rows": [ { "ranks": "0 to 7", "spans":
///                   [ [ begin us, end us, kind, index of name, AXES ] ] } ] } }
/// The parts are of the slowest rank: the one that computes the most.
nlohmann::json describePrediction(const StepPrediction &prediction,
                                  const runtime::Cluster &cluster);

} // namespace sinter
