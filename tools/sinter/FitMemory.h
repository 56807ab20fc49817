//===- FitMemory.h - Training steps of other sizes that fit -----*- C++ -*-===//
#pragma once

#include "tools/sinter/TrainMode.h"
#include <map>

namespace sinter::cli {

/// What else than a step's sizes a run's memory depends on.
struct RunMemoryOptions {
  int64_t saveEvery = 0;
  bool validates = false; ///< the run evaluates, too
};

/// Knows what runs of a model would hold: compiles steps, allocates and runs nothing, and does
/// nothing twice.
class MemoryPlanner {
public:
  MemoryPlanner(const Model &model, const StepModeOptions &options, const RunMemoryOptions &run)
      : model(model), options(options), run(run) {}

  /// The peak of a run of these options with another number of rows.
  Expected<uint64_t> getPeak(int64_t batch);

  /// The peak of a run of these options.
  Expected<uint64_t> getPeak(const StepModeOptions &changed) const;

  /// How many numbers of rows have been looked at.
  size_t getPlans() const { return peaks.size(); }

  const StepModeOptions &getOptions() const { return options; }

private:
  const Model &model;
  StepModeOptions options;
  RunMemoryOptions run;
  std::map<int64_t, uint64_t> peaks; ///< by rows
};

/// The most rows that fit, and what one more would take.
struct LargestBatch {
  int64_t batch = 0;
  uint64_t peak = 0;
  std::optional<uint64_t> next; ///< none where the batch is the largest that --batch takes
};

/// Finds the largest batch whose peak is within `budget`. A peak is nearly a line over rows, so
/// the search goes where the line through its last two points meets the budget, and halves what is
/// left where that does not help. Fails where not even one row fits.
Expected<LargestBatch> findLargestBatch(MemoryPlanner &planner, uint64_t budget);

/// The smallest changes that fit the budget, each planned, as options to give: first the one that
/// trains the same (fewer rows at a time, more microbatches), then shorter rows, then an optimizer
/// that keeps less. "--batch 2 --accumulate 4 (1.20 MiB), --seq 64 (1.31 MiB)"; empty if none does.
Expected<std::string> suggestChanges(const MemoryPlanner &planner, uint64_t budget);

} // namespace sinter::cli
