#include "sinter/FitMemory.h"
#include "runtime/Base/ByteSize.h"
#include <algorithm>
#include <cmath>

using namespace sinter;

/// What `batch` takes at most.
static constexpr int64_t kMostRows = 65536;
/// Rows of fewer tokens are not proposed.
static constexpr int64_t kLeastSequence = 8;

Expected<runtime::TrainMemory> MemoryPlanner::plan(const RunSize &changed, uint64_t bound) const {
  SINTER_TRY(CompileRequest request,
             makeTrainRequest(model, changed.options, changed.sequence, changed.validates));
  request.code = false;
  request.options.training.arenaBudget = bound;
  SINTER_TRY(Compiled compiled, compileCached(request, changed.options, model.path.string()));
  return runtime::predictTrainMemory(compiled.executable, changed.run, changed.validates);
}

Expected<uint64_t> MemoryPlanner::getPeak(int64_t batch) {
  if (auto known = peaks.find(batch); known != peaks.end())
    return known->second;
  RunSize changed = size;
  changed.options.batch = batch;
  SINTER_TRY(runtime::TrainMemory memory, plan(changed, TrainingOptions::kLeastArena));
  return peaks[batch] = memory.getPeak();
}

Expected<LargestBatch> sinter::findLargestBatch(MemoryPlanner &planner, uint64_t budget) {
  SINTER_TRY(uint64_t peak, planner.getPeak(1));
  if (peak > budget)
    return fail("`memory_budget` " + planner.getSize().options.memoryBudget,
                "one row needs " + formatExactBytes(peak),
                "give at least that, or a smaller `seq`");
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

/// Looks for changes of a run that fit its budget.
class ChangeFinder {
public:
  /// @param least what the run holds with all computed again that can be
  ChangeFinder(const MemoryPlanner &planner, uint64_t budget, const runtime::TrainMemory &least)
      : planner(planner), size(planner.getSize()), budget(budget) {
    // Of a run on the same states all but these stays, whatever becomes of the rest.
    const runtime::MemoryUse &use = least.session;
    states = least.getPeak() -
             std::min(least.getPeak(), use.arena + use.input + use.output + least.batches);
    // What an optimizer keeps, in the step and in the copy that checkpoints are written from.
    uint64_t parameters = 4 * countElements(planner.getModel().getParameters());
    moments = (use.state - std::min(use.state, parameters)) * (least.snapshot != 0 ? 2 : 1);
    moments = std::min(moments, states);
  }

  Expected<std::string> find() {
    if (size.options.training.rematerialize != "op") {
      Change change{size, "`rematerialize` op"};
      change.size.options.training.rematerialize = "op";
      SINTER_CHECK(propose({change}, states));
    }
    SINTER_CHECK(propose(listBatches(), states));
    const std::string &optimizer = size.options.training.optimizer;
    const std::string &stateType = size.options.training.stateType;
    if (stateType == "f32" && optimizer != "adafactor") {
      Change change{size, "`state_dtype` bf16"};
      change.size.options.training.stateType = "bf16";
      SINTER_CHECK(propose({change}, states - moments / 2));
    }
    SINTER_CHECK(propose(listLengths(), states));
    if (optimizer != "adafactor") {
      Change change{size, stateType == "f32" ? "`optimizer` adafactor"
                                             : "`optimizer` adafactor `state_dtype` f32"};
      change.size.options.training.optimizer = "adafactor";
      change.size.options.training.stateType = "f32";
      SINTER_CHECK(propose({change}, states - moments));
    }
    return changes;
  }

private:
  std::vector<Change> listBatches() const {
    std::vector<Change> series;
    int64_t rows = size.options.batch * size.options.training.accumulate;
    for (int64_t batch = size.options.batch / 2; batch >= 1; batch /= 2) {
      int64_t accumulate = (rows + batch - 1) / batch;
      Change &change =
          series.emplace_back(Change{size, "`batch` " + std::to_string(batch) + " `accumulate` " +
                                               std::to_string(accumulate)});
      change.size.options.batch = batch;
      change.size.options.training.accumulate = accumulate;
      change.size.run.accumulate = static_cast<uint64_t>(accumulate);
    }
    return series;
  }

  std::vector<Change> listLengths() const {
    std::vector<Change> series;
    for (int64_t length = size.sequence / 2; length >= kLeastSequence; length /= 2)
      series.emplace_back(Change{size, "`seq` " + std::to_string(length)}).size.sequence = length;
    return series;
  }

  Expected<uint64_t> getPeak(const Change &change) const {
    SINTER_TRY(runtime::TrainMemory memory,
               planner.plan(change.size, TrainingOptions::kLeastArena));
    return memory.getPeak();
  }

  /// Adds the first that fits of changes of which each needs less than the one before, and all of
  /// them more than `bound`. The last is planned first: where it does not fit, none does.
  Expected<void> propose(const std::vector<Change> &series, uint64_t bound) {
    if (series.empty() || bound > budget)
      return {};
    size_t none = 0, fits = series.size() - 1; // those before `none` do not fit
    SINTER_TRY(uint64_t peak, getPeak(series[fits]));
    if (peak > budget)
      return {};
    while (none < fits) {
      size_t middle = (none + fits) / 2;
      SINTER_TRY(uint64_t larger, getPeak(series[middle]));
      if (larger > budget) {
        none = middle + 1;
      } else {
        fits = middle;
        peak = larger;
      }
    }
    changes +=
        (changes.empty() ? "" : ", ") + series[fits].options + " (" + formatBytes(peak) + ")";
    return {};
  }

  const MemoryPlanner &planner;
  const RunSize &size;
  uint64_t budget, states, moments;
  std::string changes;
};
} // namespace

/// Whether a run of this size is within the budget, be it with less computed again: that may take
/// less than all of it.
static Expected<bool> fitsWithLess(const MemoryPlanner &planner, uint64_t budget) {
  SINTER_TRY(runtime::TrainMemory memory, planner.plan(planner.getSize(), /*bound=*/0));
  if (memory.getPeak() <= budget)
    return true;
  uint64_t bound = getArenaBounds(memory.getPeak(), memory.session.arena, budget).front();
  if (bound == TrainingOptions::kLeastArena)
    return false;
  SINTER_TRY(memory, planner.plan(planner.getSize(), bound));
  return memory.getPeak() <= budget;
}

tl::unexpected<Error> sinter::refuseBudget(const RunOptions &options,
                                           const runtime::TrainMemory &memory,
                                           const std::optional<std::string> &changes) {
  std::string parts = formatBytes(memory.session.getPeak()) + " for the step";
  if (memory.snapshot != 0)
    parts += ", " + formatBytes(memory.snapshot) + " to write checkpoints from meanwhile";
  if (memory.process != 0)
    parts += ", " + formatBytes(memory.process) + " for the process";
  std::string remedy = "give at least that";
  if (memory.snapshot != 0)
    remedy += ", or save only at the end (`save_every` 0)";
  if (changes)
    remedy += changes->empty() ? ", or a smaller model: no smaller batch or shorter row fits"
                               : "; what would fit: " + *changes;
  return fail("`memory_budget` " + options.memoryBudget,
              "the run needs " + std::to_string(memory.getPeak()) + " bytes (" + parts + ")" +
                  (changes ? ", with all computed again that can be" : ""),
              remedy);
}

Expected<void> sinter::checkBudget(const MemoryPlanner &planner) {
  const RunSize &size = planner.getSize();
  SINTER_TRY(uint64_t budget, size.options.getBudget());
  if (budget == 0)
    return {};
  SINTER_TRY(runtime::TrainMemory least, planner.plan(size, TrainingOptions::kLeastArena));
  if (least.getPeak() <= budget)
    return {};
  // Where there is no room for all but the arena, no arena is small enough.
  if (least.getPeak() - std::min(least.getPeak(), least.session.arena) <= budget) {
    SINTER_TRY(bool fits, fitsWithLess(planner, budget));
    if (fits)
      return {};
  }
  // A text is for one size and, where it has one, for one optimizer.
  if (planner.getModel().text)
    return refuseBudget(size.options, least);
  SINTER_TRY(std::string changes, ChangeFinder(planner, budget, least).find());
  return refuseBudget(size.options, least, changes);
}
