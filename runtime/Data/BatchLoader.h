//===- BatchLoader.h - The next step's tokens, ready ------------*- C++ -*-===//
//
// A thread reads the microbatches of the next step while the current one computes, so that a step
// waits neither for the disk nor for a copy.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Data/Batches.h"
#include <condition_variable>
#include <mutex>
#include <thread>

namespace sinter::runtime {

/// The microbatches of a step that are read: of all `total`, `count` from `begin` on, each `stride`
/// behind the one before.
struct StepShare {
  uint64_t total = 1, begin = 0, count = 1, stride = 1;
};

class BatchLoader {
public:
  /// Reads a share of every step from step `firstStep` on.
  BatchLoader(BatchReader reader, const StepShare &share, uint64_t firstStep);
  ~BatchLoader();
  BatchLoader(const BatchLoader &) = delete;
  BatchLoader &operator=(const BatchLoader &) = delete;

  /// The microbatches of the next step's share; they stay until the next call.
  std::span<const Microbatch> next();

  /// Bytes of all microbatches that a loader of these options and `count` a step holds.
  static uint64_t bytes(const BatchOptions &options, uint64_t count);

private:
  void work();

  BatchReader reader;
  StepShare share;
  std::vector<Microbatch> current, coming;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t nextStep;  ///< that `coming` holds or is being filled with
  bool ready = false; ///< `coming` is filled
  bool stopping = false;
  std::thread thread;
};

} // namespace sinter::runtime
