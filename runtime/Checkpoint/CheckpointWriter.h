//===- CheckpointWriter.h - Checkpoints beside the steps --------*- C++ -*-===//
//
// Writes checkpoints on a thread of its own, at a low priority: what it does is mostly waiting for
// the disk.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Checkpoint/CheckpointFolder.h"
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace sinter::runtime {

class CheckpointWriter {
public:
  using Ready = std::function<Expected<void>()>;

  /// Of each run's checkpoints in `folder` the newest `keep` stay; 0: all.
  CheckpointWriter(CheckpointFolder folder, uint64_t keep);

  /// Waits until what was started is written.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter &) = delete;
  CheckpointWriter &operator=(const CheckpointWriter &) = delete;

  /// Waits until the writer is idle; returns the error of the last write if it failed and was not
  /// returned before.
  Expected<void> wait();
  bool isIdle() const;

  /// Begins to write a checkpoint, when `ready`, which is called on the writer's thread, has
  /// returned; its error is the write's. From then on `files` must not change until wait() has
  /// returned. @pre the writer is idle: wait() was called since the last start
  void start(uint64_t step, std::vector<CheckpointFile> files, Ready ready = {});

  /// The same of the files that one of several ranks writes; written() are then these. One of the
  /// ranks has begun the checkpoint (CheckpointFolder::begin).
  void startFiles(uint64_t step, std::vector<CheckpointFile> files, Ready ready = {});
  /// Begins to finish a checkpoint of which all ranks have written their files, and to remove old
  /// ones.
  void startFinish(uint64_t step, Manifest manifest);

  /// What the last startFiles() wrote. @pre wait() has returned since
  const Manifest &getWritten() const { return manifest; }

private:
  void work();
  void begin(std::function<Expected<void>()> newJob);

  CheckpointFolder folder;
  uint64_t keep;
  Manifest manifest;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::function<Expected<void>()> job;
  bool busy = false, stopping = false;
  Expected<void> result;
  std::thread thread;
};

} // namespace sinter::runtime
