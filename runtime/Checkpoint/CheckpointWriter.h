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
  /// Of each run's checkpoints in `folder` the newest `keep` stay; 0: all.
  CheckpointWriter(CheckpointFolder folder, uint64_t keep);

  /// Waits until what was started is written.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter &) = delete;
  CheckpointWriter &operator=(const CheckpointWriter &) = delete;

  /// Waits until the writer is idle; returns the error of the last write if it failed and was not
  /// returned before.
  Expected<void> wait();

  /// Begins to write a checkpoint, when `ready`, which is called on the writer's thread, has
  /// returned; its error is the write's. From then on `files` must not change until wait() has
  /// returned. @pre the writer is idle: wait() was called since the last start()
  void start(uint64_t step, std::vector<CheckpointFile> files,
             std::function<Expected<void>()> ready = {});

private:
  void work();

  CheckpointFolder folder;
  uint64_t keep;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t step = 0;
  std::vector<CheckpointFile> files;
  std::function<Expected<void>()> ready;
  bool busy = false, stopping = false;
  Expected<void> result;
  std::thread thread;
};

} // namespace sinter::runtime
