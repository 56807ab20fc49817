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

Expected<uint64_t> MemoryPlanner::getPeak(const RunSize &changed) const {
  SINTER_TRY(CompileRequest request, makeTrainRequest(model, changed.options, changed.step,
                                                      changed.sequence, changed.validates));
  request.options.training.arenaBudget = 1; // as small as can be
  SINTER_TRY(Compiled compiled, compileCached(request, changed.options));
  SINTER_TRY(runtime::TrainMemory memory,
             runtime::predictTrainMemory(compiled.executable, changed.run, changed.validates));
  return memory.peak();
}

Expected<uint64_t> MemoryPlanner::getPeak(int64_t batch) {
  if (auto known = peaks.find(batch); known != peaks.end())
    return known->second;
  RunSize changed = size;
  changed.options.batch = batch;
  SINTER_TRY(uint64_t peak, getPeak(changed));
  peaks[batch] = peak;
  return peak;
}

Expected<LargestBatch> sinter::cli::findLargestBatch(MemoryPlanner &planner, uint64_t budget) {
  SINTER_TRY(uint64_t peak, planner.getPeak(1));
  if (peak > budget)
    return fail("--memory-budget " + planner.getSize().step.memoryBudget,
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
  const RunSize &size = planner.getSize();
  std::string changes;
  /// Adds the change where it fits, and says whether it does.
  auto propose = [&](const RunSize &changed, const std::string &text) -> Expected<bool> {
    SINTER_TRY(uint64_t peak, planner.getPeak(changed));
    if (peak > budget)
      return false;
    changes += (changes.empty() ? "" : ", ") + text + " (" + formatBytes(peak) + ")";
    return true;
  };
  bool fits = false;
  if (size.step.training.rematerialize != "op") {
    RunSize changed = size;
    changed.step.training.rematerialize = "op";
    SINTER_TRY(fits, propose(changed, "--rematerialize op"));
  }
  int64_t rows = size.options.batch * size.step.training.accumulate;
  fits = false;
  for (int64_t batch = size.options.batch / 2; batch >= 1 && !fits; batch /= 2) {
    RunSize changed = size;
    changed.options.batch = batch;
    int64_t accumulate = (rows + batch - 1) / batch;
    changed.step.training.accumulate = accumulate;
    changed.run.accumulate = static_cast<uint64_t>(accumulate);
    SINTER_TRY(fits, propose(changed, "--batch " + std::to_string(batch) + " --accumulate " +
                                          std::to_string(accumulate)));
  }
  const std::string &optimizer = size.step.training.optimizer;
  const std::string &stateType = size.step.training.stateType;
  if (stateType == "f32" && optimizer != "adafactor") {
    RunSize changed = size;
    changed.step.training.stateType = "bf16";
    SINTER_TRY(fits, propose(changed, "--state-dtype bf16"));
  }
  fits = false;
  for (int64_t length = size.sequence / 2; length >= kLeastSequence && !fits; length /= 2) {
    RunSize changed = size;
    changed.sequence = length;
    SINTER_TRY(fits, propose(changed, "--seq " + std::to_string(length)));
  }
  if (optimizer != "adafactor") {
    RunSize changed = size;
    changed.step.training.optimizer = "adafactor";
    changed.step.training.stateType = "f32";
    SINTER_TRY(fits, propose(changed, changed.step.training.stateType == stateType
                                          ? "--optimizer adafactor"
                                          : "--optimizer adafactor --state-dtype f32"));
  }
  return changes;
}
