//===- ProgressThread.h - Collectives beside computation --------*- C++ -*-===//
//
// A program whose collectives are stream 1 is walked by two threads: its caller runs stream 0, with
// the threads of the pool, and a thread of the device's runs the collectives, which mostly wait.
// Each goes through its own commands in order and waits where the executable says that one must.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Device/Cpu/Recording.h"
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

namespace sinter::runtime {

class ProgressThread {
public:
  ProgressThread();
  ~ProgressThread();
  ProgressThread(const ProgressThread &) = delete;
  ProgressThread &operator=(const ProgressThread &) = delete;

  /// Runs all steps. `begin(i)` is called before the caller's thread runs step i or waits for it.
  /// Fails where a step does; then no other begins.
  Expected<void> run(const Recording &recording, ThreadPool &pool,
                     const std::function<void(size_t)> &begin);

private:
  static constexpr uint32_t own = 0, communication = 1;

  void work();
  /// The steps of a stream; until one fails.
  void walk(uint32_t stream, const std::function<void(size_t)> &begin);
  /// Until a step of another stream is done.
  void waitFor(size_t step);
  void fail(Error error);

  // Of the run at hand.
  const Recording *recording = nullptr;
  ThreadPool *pool = nullptr;
  std::atomic<size_t> done[2] = {}; ///< of each stream the number behind its last step that is done
  std::atomic<bool> failed = false;
  std::mutex mutex; // of the error
  std::optional<Error> error;

  std::atomic<uint64_t> begun = 0, ended = 0; ///< runs, of the thread
  std::atomic<bool> stopping = false;
  std::thread thread;
};

} // namespace sinter::runtime
