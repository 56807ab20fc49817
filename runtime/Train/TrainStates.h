//===- TrainStates.h - Parameters and optimizer states ----------*- C++ -*-===//
#pragma once

#include "runtime/Checkpoint/Snapshot.h"
#include "runtime/Session/Session.h"
#include <filesystem>

namespace sinter::runtime {

/// Names of the files of a checkpoint.
constexpr const char *modelFile = "model.safetensors";
constexpr const char *optimizerFile = "optimizer.safetensors";
constexpr const char *stateFile = "state.json";

/// The files of a checkpoint and the states that they hold, without data: the parameters, which the
/// executable's checkpoint table lists, and all others but the accumulated gradients
/// ("gradient.*"), which are zero between steps.
std::vector<SnapshotFile> describeStates(const Executable &executable);

/// The states of a session of a train executable. The session outlives it.
class TrainStates {
public:
  /// Fails where the checkpoint table lists a parameter that is no state, or of another type or
  /// shape.
  static Expected<TrainStates> find(Session &session);

  /// Fills the parameters from `weights`, converting from BF16 and F16, or from the seed, and
  /// zeroes all other states. Fails where a tensor is missing or of another shape.
  Expected<void> initialize(const WeightSource *weights, uint64_t seed);

  /// Fills all states from a checkpoint. Fails, with the tensor named, where it is not of the same
  /// model and optimizer.
  Expected<void> load(const std::filesystem::path &checkpoint);

  /// The files of a checkpoint with the states' memory as data, where the processor can reach it.
  const std::vector<SnapshotFile> &files() const { return content; }
  bool inHostMemory() const { return session->executable().isForCpu(); }

  /// Copies states from where they are; for snapshots. Session::finishCopies() says when they are
  /// there.
  TensorReader reader() const;

  /// The first parameter that holds a number that is not finite, if there is one.
  Expected<std::optional<std::string>> findNonFiniteParameter() const;

private:
  using Fill = std::function<Expected<void>(std::span<std::byte> out)>;

  const std::vector<TensorToWrite> &parameters() const { return content[0].tensors; }
  Expected<void> fill(const TensorToWrite &state, const Fill &content);

  Session *session = nullptr;
  std::vector<SnapshotFile> content;
};

} // namespace sinter::runtime
