//===- FitMemory.h - Training steps that fit --------------------*- C++ -*-===//
#pragma once

#include "sinter/TrainStep.h"
#include <map>

namespace sinter {

/// What a run's memory depends on.
struct RunSize {
  RunOptions options; ///< with the rows of a microbatch, the training step and the budget
  int64_t sequence = 0;
  runtime::TrainOptions run;
  bool validates = false; ///< the run evaluates, too
};

/// Knows what runs of a model would hold: plans steps, makes no code, allocates and runs nothing,
/// and does nothing twice.
class MemoryPlanner {
public:
  MemoryPlanner(const Model &model, RunSize size) : model(model), size(std::move(size)) {}

  /// What a run of this size holds, with values computed again until its arena is within `bound`
  /// bytes; 0: any.
  Expected<runtime::TrainMemory> plan(const RunSize &changed, uint64_t bound) const;

  /// The peak of a run of this size, but for its rows, with all computed again that can be.
  Expected<uint64_t> getPeak(int64_t batch);

  /// How many numbers of rows have been looked at.
  size_t getPlans() const { return peaks.size(); }

  const Model &getModel() const { return model; }
  const RunSize &getSize() const { return size; }

private:
  const Model &model;
  RunSize size;
  std::map<int64_t, uint64_t> peaks; ///< by rows
};

/// The most rows that fit, and what one more would take.
struct LargestBatch {
  int64_t batch = 0;
  uint64_t peak = 0;
  std::optional<uint64_t> next; ///< none where the batch is the largest that there is
};

/// Finds the largest batch whose peak is within `budget`. A peak is nearly a line over rows, so
/// the search goes where the line through its last two points meets the budget, and halves what is
/// left where that does not help. Fails where not even one row fits.
Expected<LargestBatch> findLargestBatch(MemoryPlanner &planner, uint64_t budget);

/// Fails where no run of this size is within its memory budget. The error says what it needs with
/// all computed again that can be, which is enough whatever the budget was, and what would fit: the
/// smallest changes that do, each planned, as options to give. First those that train the same
/// (recomputing ops instead of whole blocks; fewer rows at a time, more microbatches), then states
/// of bf16, then shorter rows, then an optimizer that keeps less:
/// "`batch` 2 `accumulate` 4 (1.20 MiB), `seq` 64 (1.31 MiB)". What the states alone forbid is not
/// planned.
Expected<void> checkBudget(const MemoryPlanner &planner);

/// The error of a run that holds more than its memory budget. `changes` would fit; without them
/// it is a step that was compiled already, or a text's.
tl::unexpected<Error> refuseBudget(const RunOptions &options, const runtime::TrainMemory &memory,
                                   const std::optional<std::string> &changes = std::nullopt);

} // namespace sinter
