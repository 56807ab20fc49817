//===- Profile.h - Where the time of a step goes ----------------*- C++ -*-===//
#pragma once

#include "runtime/Cluster/RankReport.h"
#include "sinter/DeviceLimits.h"
#include "sinter/Measure.h"

namespace sinter {

struct ProfileOptions : StepModeOptions {
  std::string by = "op"; ///< what makes a row: op, layer, both or (of training) stage alone
  std::string trace;     ///< a Chrome/Perfetto trace to write; empty: none
};

/// The measured times of steps. Those of the rows add up to `totalNs`.
struct ProfileResult {
  std::vector<runtime::ProfileRow> rows;
  std::vector<runtime::ProfileRow> stages; ///< of a training step
  double totalNs = 0;
  int64_t runs = 0;
  runtime::Limits limits;
  bool limitsAreMeasured = false;           ///< see DeviceLimits
  std::vector<std::string> alternatives;    ///< of a device that tunes
  std::optional<runtime::RankReport> ranks; ///< where there are several
};

/// Measures every command of a step against the roofline, of a model or of MLIR text that is
/// none: a graph with one entry, whose inputs are made up. Of several ranks the commands are this
/// one's; the trace has all, and the first of them writes it.
Expected<ProfileResult> profile(const std::filesystem::path &path, ProfileOptions options,
                                const Repetition &repetition);

} // namespace sinter
