//===- Bench.h - How fast a step is -----------------------------*- C++ -*-===//
#pragma once

#include "sinter/DeviceLimits.h"
#include "sinter/Measure.h"

namespace sinter {

/// What was measured of a step, and on what.
struct BenchResult {
  std::string target, dtype;
  int64_t threads = 1, batch = 1, sequence = 1, context = 0;
  std::vector<double> milliseconds; ///< of the repetitions, in ascending order
  double tokensPerSecond = 0;       ///< by the median
  double predictedMs = 0;           ///< of a repetition, by the cost model
  double compileMs = 0;
  uint64_t peakBytes = 0, plannedBytes = 0; ///< held at most, as measured and as planned
  uint64_t arenaBytes = 0, arenaLowerBoundBytes = 0;
  double flops = 0; ///< of a repetition; of a training step the useful ones (getUsefulFlops)
  uint64_t bytes = 0;
  runtime::Limits limits;
  bool limitsAreMeasured = false; ///< see DeviceLimits
  const char *holder = "";        ///< see DeviceLimits::getHolder
  /// Bytes per second of plain loads of the same weights by as many threads, right after the steps
  /// of decoding (DeviceLimits::measureLoads); else 0.
  double weightLoads = 0;
  /// The least time by these limits over the median; at most 1.
  double rooflineFraction = 0;

  double getMedian() const { return milliseconds[milliseconds.size() / 2]; }
};

/// Measures a step of the mode after a warm-up. Fails as Runner::open and openRandomRun do.
Expected<BenchResult> bench(const Model &model, StepModeOptions options,
                            const Repetition &repetition);

} // namespace sinter
