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

class BatchLoader {
public:
  /// Reads steps of `accumulate` microbatches from step `firstStep` on.
  BatchLoader(BatchReader reader, uint64_t accumulate, uint64_t firstStep);
  ~BatchLoader();
  BatchLoader(const BatchLoader &) = delete;
  BatchLoader &operator=(const BatchLoader &) = delete;

  /// The microbatches of the next step; they stay until the next call.
  std::span<const Microbatch> next();

  /// Bytes of all microbatches that a loader of these options holds.
  static uint64_t bytes(const BatchOptions &options, uint64_t accumulate);

private:
  void work();

  BatchReader reader;
  uint64_t accumulate;
  std::vector<Microbatch> current, coming;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t nextStep;  ///< that `coming` holds or is being filled with
  bool ready = false; ///< `coming` is filled
  bool stopping = false;
  std::thread thread;
};

} // namespace sinter::runtime
