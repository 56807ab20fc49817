//===- TrainPrograms.h - The programs of a train executable -----*- C++ -*-===//
#pragma once

#include "runtime/Data/Batches.h"
#include "runtime/Session/Session.h"
#include "runtime/Train/GradientTree.h"
#include <optional>

namespace sinter::runtime {

/// The numbers of one step that are the same for all its microbatches.
struct StepScalars {
  double lossWeight = 0;
  double lossScale = 1;
  double learningRate = 0, adamwLearningRate = 0;
  double biasCorrection1 = 0, biasCorrection2 = 0;
  double update = 0;
};

/// A program with its inputs and outputs. What the program has no input for is not set.
class TrainProgram {
public:
  /// Fails where an input is of an unknown name, or a tensor of another type or shape than the
  /// trainer's.
  static Expected<TrainProgram> find(const Session &session, std::string_view name);

  /// Rows and tokens of a microbatch; zeros where the program takes none.
  uint64_t batch() const { return rows; }
  uint64_t sequence() const { return length; }

  bool hasFirst() const { return !first.empty(); }
  bool hasLossScale() const { return lossScale; }

  void set(const Microbatch &microbatch) const;
  void setSeed(const std::array<int32_t, 2> &words) const;
  void set(const StepScalars &scalars) const;

  size_t handle() const { return program; }

  /// The outputs of the last run; only where the program has them.
  double loss() const { return double(*lossOut); }
  double gradNorm() const { return double(*gradNormOut); }
  bool hasLoss() const { return lossOut; }
  bool hasGradNorm() const { return gradNormOut; }

private:
  Expected<void> bindInput(const Session &session, const std::string &name);
  Expected<void> bindOutputs(const Session &session, std::string_view name);

  size_t program = 0;
  uint64_t rows = 0, length = 0;
  std::span<int32_t> tokens, targets, first, seed;
  float *lossWeight = nullptr, *lossScale = nullptr;
  float *learningRate = nullptr, *adamwLearningRate = nullptr;
  float *biasCorrection1 = nullptr, *biasCorrection2 = nullptr, *update = nullptr;
  const float *lossOut = nullptr, *gradNormOut = nullptr;
};

/// The tree that a rank of an executable adds the gradients of a step of `accumulate` microbatches
/// along.
Expected<GradientTree> makeGradientTree(const Executable &executable, uint64_t accumulate);

/// All that a run needs.
struct TrainPrograms {
  TrainProgram step;                  ///< train_step, or accumulate
  std::optional<TrainProgram> update; ///< with accumulation
  std::optional<TrainProgram> evaluate;
  GradientTree tree;
  std::vector<size_t> carries; ///< handles of carry.1, carry.2, ...

  /// Those that follow microbatch `index` of a rank's step.
  std::span<const size_t> carriesAfter(uint64_t index) const {
    return std::span(carries).first(tree.carriesAfter(index));
  }

  /// The names of the programs of a run of `accumulate` microbatches a step: train_step, or
  /// accumulate, update and the carries of the tree. Fails where `executable` was not compiled for
  /// it.
  static Expected<std::vector<std::string>> choose(const Executable &executable,
                                                   uint64_t accumulate, bool validation);

  /// Looks up the programs that choose() named in a session. Fails where they do not fit each
  /// other.
  static Expected<TrainPrograms> find(const Session &session, uint64_t accumulate, bool validation);
};

} // namespace sinter::runtime
