#include "tools/sinter/FitMemory.h"
#include "tools/sinter/Output.h"
#include <algorithm>
#include <cmath>

using namespace sinter;
using namespace sinter::cli;

/// What --batch takes at most.
static constexpr int64_t kMostRows = 65536;
/// Rows of fewer tokens are not proposed.
static constexpr int64_t kLeastSequence = 8;

Expected<uint64_t> MemoryPlanner::getPeak(const StepModeOptions &changed) const {
  SINTER_TRY(CompileRequest request, makeModeRequest(model, changed, run.validates));
  SINTER_TRY(Compiled compiled, compileCached(request, changed));
  SINTER_TRY(runtime::TrainMemory memory,
             runtime::predictTrainMemory(compiled.executable,
                                         makeTrainOptions(changed, run.saveEvery), run.validates));
  return memory.peak();
}

Expected<uint64_t> MemoryPlanner::getPeak(int64_t batch) {
  if (auto known = peaks.find(batch); known != peaks.end())
    return known->second;
  StepModeOptions changed = options;
  changed.batch = batch;
  SINTER_TRY(uint64_t peak, getPeak(changed));
  peaks[batch] = peak;
  return peak;
}

Expected<LargestBatch> sinter::cli::findLargestBatch(MemoryPlanner &planner, uint64_t budget) {
  SINTER_TRY(uint64_t peak, planner.getPeak(1));
  if (peak > budget)
    return fail("--memory-budget " + planner.getOptions().step.memoryBudget,
                "one row needs " + std::to_string(peak) + " bytes (" + formatBytes(peak) + ")",
                "give at least that, or a smaller --seq");
  // low fits, high does not; other is the point before the last.
  int64_t low = 1, high = kMostRows + 1, last = 1, other = 1;
  for (bool halve = false; high - low > 1;) {
    int64_t batch = low + (high - low) / 2;
    if (last == other) {
      batch = 2;
    } else if (!halve) {
      SINTER_TRY(uint64_t lastPeak, planner.getPeak(last));
      SINTER_TRY(uint64_t otherPeak, planner.getPeak(other));
      double slope = (double(lastPeak) - double(otherPeak)) / double(last - other);
      double crossing = double(last) + (double(budget) - double(lastPeak)) / slope;
      if (slope > 0)
        batch = static_cast<int64_t>(
            std::clamp(std::floor(crossing), double(low + 1), double(high - 1)));
    }
    SINTER_TRY(peak, planner.getPeak(batch));
    int64_t before = high - low;
    (peak <= budget ? low : high) = batch;
    // A step along the line that left most of the range is followed by one that halves it, unless
    // it says that the end is near.
    halve = last != other && !halve && 2 * (high - low) > before && batch != high - 1 &&
            batch != low + 1;
    other = last;
    last = batch;
  }
  LargestBatch result;
  result.batch = low;
  SINTER_TRY(result.peak, planner.getPeak(low));
  if (high <= kMostRows) {
    SINTER_TRY(result.next, planner.getPeak(high));
  }
  return result;
}

Expected<std::string> sinter::cli::suggestChanges(const MemoryPlanner &planner, uint64_t budget) {
  const StepModeOptions &options = planner.getOptions();
  std::string changes;
  /// Adds the change where it fits, and says whether it does.
  auto propose = [&](const StepModeOptions &changed, const std::string &text) -> Expected<bool> {
    SINTER_TRY(uint64_t peak, planner.getPeak(changed));
    if (peak > budget)
      return false;
    changes += (changes.empty() ? "" : ", ") + text + " (" + formatBytes(peak) + ")";
    return true;
  };
  int64_t rows = options.batch * options.step.training.accumulate;
  bool fits = false;
  for (int64_t batch = options.batch / 2; batch >= 1 && !fits; batch /= 2) {
    StepModeOptions changed = options;
    changed.batch = batch;
    changed.step.training.accumulate = (rows + batch - 1) / batch;
    SINTER_TRY(fits, propose(changed, "--batch " + std::to_string(batch) + " --accumulate " +
                                          std::to_string(changed.step.training.accumulate)));
  }
  fits = false;
  for (int64_t length = options.mode.sequence / 2; length >= kLeastSequence && !fits; length /= 2) {
    StepModeOptions changed = options;
    changed.mode.sequence = length;
    SINTER_TRY(fits, propose(changed, "--seq " + std::to_string(length)));
  }
  if (options.step.training.optimizer != "adafactor") {
    StepModeOptions changed = options;
    changed.step.training.optimizer = "adafactor";
    SINTER_TRY(fits, propose(changed, "--optimizer adafactor"));
  }
  return changes;
}
