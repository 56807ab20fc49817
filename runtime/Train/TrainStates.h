//===- TrainStates.h - Parameters and optimizer states ----------*- C++ -*-===//
#pragma once

#include "runtime/Checkpoint/BoxFiles.h"
#include "runtime/Session/Session.h"
#include "runtime/Train/TrainRanks.h"
#include <filesystem>

namespace sinter::runtime {

/// Names of the files of a checkpoint.
constexpr const char *modelFile = "model.safetensors";
constexpr const char *optimizerFile = "optimizer.safetensors";
constexpr const char *stateFile = "state.json";

/// A state of a train executable that checkpoints hold, a tensor or a box of one, as a rank has it.
struct HeldState {
  BoxToWrite part;        ///< its data are the session's memory, where the processor can reach it
  bool parameter = false; ///< else the optimizer's
  bool held = true;       ///< by this rank: with a pipeline others have those of other stages
  bool written = false;   ///< by this rank, which it is of all that hold the same part
  /// The ranks that write a part of it each, and where that begins.
  std::vector<std::pair<size_t, std::vector<int64_t>>> writers = {};

  bool isSplit() const { return part.tensor.shape != part.whole; }
  TensorBox getBox() const { return {part.offset, part.tensor.shape}; }
};

/// The states that a rank holds, without data: the parameters, which the executable's checkpoint
/// table lists, and all others but gradients ("gradient.*", "gradient0.*", "gradient_sum.*", ...),
/// which are zero between steps. Each part of a state is written by one of the ranks that hold it,
/// all of them about as many bytes.
std::vector<HeldState> describeStates(const Executable &executable, size_t rank);

/// The files of a checkpoint that a rank writes: one of parameters and one of the optimizer's
/// states, but for those that would be empty; rank 0 writes both.
std::vector<SnapshotFile> describeFiles(const Executable &executable,
                                        std::span<const HeldState> states, size_t rank);

/// The states of a session of a train executable. The session outlives it.
class TrainStates {
public:
  /// Fails where the checkpoint table lists a parameter that is no state, or of another type or
  /// shape.
  static Expected<TrainStates> find(Session &session, size_t rank);

  /// Fills the parameters from `weights`, converting from BF16 and F16, or from the seed, and
  /// zeroes all other states. Fails where a tensor is missing or of another shape.
  Expected<void> initialize(const WeightSource *weights, uint64_t seed);

  /// Fills all states from a checkpoint, of this or another number of ranks. Fails, with the tensor
  /// named, where it is not of the same model and optimizer.
  Expected<void> load(const std::filesystem::path &checkpoint);

  /// What this rank writes of a checkpoint, with the states' memory as data, where the processor
  /// can reach it.
  const std::vector<SnapshotFile> &getFiles() const { return written; }
  bool inHostMemory() const { return session->getExecutable().isForCpu(); }

  /// Copies states from where they are; for snapshots. Session::finishCopies() says when they are
  /// there.
  TensorReader reader() const;

  /// Writes all parameters under their checkpoint names: aside, synced, renamed into place. All
  /// ranks call it, the first one writes; it holds a whole parameter of which ranks have parts.
  Expected<void> writeModel(const std::string &path, const TrainRanks &ranks) const;

  /// The first parameter in which this rank has a number that is not finite, if there is one.
  Expected<std::optional<std::string>> findNonFiniteParameter() const;

private:
  using Fill = std::function<Expected<void>(std::span<std::byte> out)>;

  Expected<void> fill(const TensorToWrite &state, const Fill &content);
  Expected<void> fillPart(const HeldState &state, std::span<const std::byte> whole);
  Expected<std::span<const std::byte>> gather(std::span<const HeldState *const> parts,
                                              const TrainRanks &ranks,
                                              std::vector<std::byte> &memory) const;

  Session *session = nullptr;
  std::vector<HeldState> states;
  std::vector<SnapshotFile> written;
};

} // namespace sinter::runtime
