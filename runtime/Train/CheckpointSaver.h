//===- CheckpointSaver.h - Checkpoints of all ranks, beside the steps -*- C++ -*-===//
//
// Writing a checkpoint goes on beside the steps, and the ranks may talk to each other only between
// them. So a save of several ranks is in two parts, each of which begins between two steps, when
// all ranks are done with what was before: every rank writes its files, then the first one
// finishes. Until then the checkpoint before it is the newest.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Checkpoint/CheckpointWriter.h"
#include "runtime/Train/TrainRanks.h"

namespace sinter::runtime {

/// All functions but isIdle() are called by all ranks together, and fail on all of them.
class CheckpointSaver {
public:
  /// Of each run's checkpoints in `folder` the newest `keep` stay; 0: all.
  CheckpointSaver(TrainRanks ranks, const CheckpointFolder &folder, uint64_t keep);

  /// Begins to save a checkpoint of which this rank writes `files`, as CheckpointWriter::start().
  /// @pre wait() was called since the last start
  Expected<void> start(uint64_t step, std::vector<CheckpointFile> files,
                       CheckpointWriter::Ready ready);

  /// Whether this rank is done with its part.
  bool isIdle() const { return writer.isIdle(); }
  /// Goes on with the save where all ranks are idle; its error is that of the save.
  Expected<void> advance(bool allIdle);
  /// Waits until the save is done; returns its error, if it was not returned before.
  Expected<void> wait();

private:
  enum class Part { None, Files, Finish };
  Expected<void> endPart();
  Expected<void> startFinish();

  TrainRanks ranks;
  CheckpointFolder folder;
  Part part = Part::None;
  uint64_t step = 0;
  CheckpointWriter writer;
};

} // namespace sinter::runtime
