//===- TrainPrograms.h - The programs of a train executable -----*- C++ -*-===//
#pragma once

#include "runtime/Data/Batches.h"
#include "runtime/Session/Session.h"
#include "runtime/Train/StepPlan.h"
#include <array>

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
  /// Of a slot, where it is a pipeline's. Fails where an input is of an unknown name, or a tensor
  /// of another type or shape than the trainer's.
  static Expected<TrainProgram> find(const Session &session, std::string_view name,
                                     uint64_t slot = 0);

  void set(const Microbatch &microbatch) const;
  void setSeed(const std::array<int32_t, 2> &words) const;
  void set(const StepScalars &scalars) const;

  size_t getHandle() const { return program; }

  /// The outputs of the last run; only where the program has them.
  double getLoss() const { return double(*lossOut); }
  double getGradNorm() const { return double(*gradNormOut); }
  bool hasLoss() const { return lossOut; }
  bool hasGradNorm() const { return gradNormOut; }

private:
  Expected<void> bindInput(const Session &session, const std::string &name,
                           const std::vector<int64_t> &tokens);
  Expected<void> bindOutputs(const Session &session, std::string_view name);

  size_t program = 0;
  std::span<int32_t> tokens, targets, first, seed;
  float *lossWeight = nullptr, *lossScale = nullptr;
  float *learningRate = nullptr, *adamwLearningRate = nullptr;
  float *biasCorrection1 = nullptr, *biasCorrection2 = nullptr, *update = nullptr;
  const float *lossOut = nullptr, *gradNormOut = nullptr;
};

/// Rows and tokens of a microbatch, which the programs that read tokens say; zeros without any.
std::array<uint64_t, 2> findMicrobatchShape(const Executable &executable);

/// Whether a program has an input of this name.
bool hasInput(const Executable &executable, std::string_view name);

/// What a rank does for a step: it runs a program on one of its microbatches, then carries.
struct StepTask {
  TrainProgram program;
  uint64_t microbatch = 0;
  std::vector<size_t> carries; ///< handles
};

/// A StepPlan, bound.
struct TrainPrograms {
  std::vector<StepTask> tasks;
  std::vector<TrainProgram> update, evaluate, share;
  GradientTree tree;

  /// The norm of the last run, or 0 where another stage computes it.
  double getGradNorm() const;

  /// Looks up the programs of a plan in a session, which has them. Fails where they do not fit each
  /// other.
  static Expected<TrainPrograms> find(const Session &session, const StepPlan &plan, size_t rank);
};

} // namespace sinter::runtime
