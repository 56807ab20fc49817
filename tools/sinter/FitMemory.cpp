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
                "one row needs " + formatExactBytes(peak),
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

namespace {
/// A run of another size, and the options that make it so.
struct Change {
  RunSize size;
  std::string options;
};
} // namespace

Expected<std::string> sinter::cli::suggestChanges(const MemoryPlanner &planner, uint64_t budget) {
  const RunSize &size = planner.getSize();
  std::string changes;
  /// Adds the first that fits of changes of which each needs less than the one before. The last is
  /// planned first: where it does not fit, none does.
  auto propose = [&](const std::vector<Change> &series) -> Expected<void> {
    if (series.empty())
      return {};
    SINTER_TRY(uint64_t peak, planner.getPeak(series.back().size));
    if (peak > budget)
      return {};
    const Change *fitting = &series.back();
    for (auto change = series.begin(); change != std::prev(series.end()); ++change) {
      SINTER_TRY(uint64_t larger, planner.getPeak(change->size));
      if (larger > budget)
        continue;
      fitting = &*change;
      peak = larger;
      break;
    }
    changes += (changes.empty() ? "" : ", ") + fitting->options + " (" + formatBytes(peak) + ")";
    return {};
  };
  if (size.step.training.rematerialize != "op") {
    Change change{size, "--rematerialize op"};
    change.size.step.training.rematerialize = "op";
    SINTER_CHECK(propose({change}));
  }
  int64_t rows = size.options.batch * size.step.training.accumulate;
  std::vector<Change> series;
  for (int64_t batch = size.options.batch / 2; batch >= 1; batch /= 2) {
    int64_t accumulate = (rows + batch - 1) / batch;
    Change &change = series.emplace_back(Change{
        size, "--batch " + std::to_string(batch) + " --accumulate " + std::to_string(accumulate)});
    change.size.options.batch = batch;
    change.size.step.training.accumulate = accumulate;
    change.size.run.accumulate = static_cast<uint64_t>(accumulate);
  }
  SINTER_CHECK(propose(series));
  const std::string &optimizer = size.step.training.optimizer;
  const std::string &stateType = size.step.training.stateType;
  if (stateType == "f32" && optimizer != "adafactor") {
    Change change{size, "--state-dtype bf16"};
    change.size.step.training.stateType = "bf16";
    SINTER_CHECK(propose({change}));
  }
  series.clear();
  for (int64_t length = size.sequence / 2; length >= kLeastSequence; length /= 2)
    series.emplace_back(Change{size, "--seq " + std::to_string(length)}).size.sequence = length;
  SINTER_CHECK(propose(series));
  if (optimizer != "adafactor") {
    Change change{size, stateType == "f32" ? "--optimizer adafactor"
                                           : "--optimizer adafactor --state-dtype f32"};
    change.size.step.training.optimizer = "adafactor";
    change.size.step.training.stateType = "f32";
    SINTER_CHECK(propose({change}));
  }
  return changes;
}
