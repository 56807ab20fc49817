//===- StepPlan.h - Which programs a rank runs for a step -------*- C++ -*-===//
#pragma once

#include "runtime/Format/PipelineStages.h"
#include "runtime/Train/GradientTree.h"

namespace sinter::runtime {

/// What a rank does with one of its microbatches: a run, and carries behind it.
struct PlannedTask {
  PlannedRun run;
  uint64_t microbatch = 0;
  std::vector<std::string> carries;
};

/// The programs of a rank. Without a pipeline a step's tasks are train_step, or accumulate for each
/// microbatch and accumulate_last for the last one; with one, the passes of the rank's stages in
/// the order of its schedule, and an entry is as many programs as it has passes there.
struct StepPlan {
  GradientTree tree;
  std::vector<PlannedTask> tasks;
  std::vector<std::string> update;   ///< with accumulation
  std::vector<std::string> evaluate; ///< with validation data
  std::vector<std::string> share;    ///< brings copies of parameters up to date

  /// That of a run of `accumulate` microbatches a step. Fails where `executable` was not compiled
  /// for it.
  static Expected<StepPlan> make(const Executable &executable, size_t rank, uint64_t accumulate,
                                 bool validation);

  /// The names of all programs, each once.
  std::vector<std::string> getNames() const;
};

/// Fails where the programs of an executable's ranks do not fit each other (RanksVerifier.h) in two
/// steps of `accumulate` microbatches, with validation data an evaluation behind each.
Expected<void> verifySteps(const Executable &executable, uint64_t accumulate, bool validation);

/// The tree that a rank of an executable adds the gradients of a step of `accumulate` microbatches
/// along.
Expected<GradientTree> makeGradientTree(const Executable &executable, uint64_t accumulate);

/// A rank that holds as much as any: all do without a pipeline.
size_t findLargestRank(const Executable &executable);

} // namespace sinter::runtime
