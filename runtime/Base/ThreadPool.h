//===- ThreadPool.h - One pool of threads for everything --------*- C++ -*-===//
//
// Runs the work items [0, grid) of a launch on all threads. A decode step is hundreds of launches
// of some microseconds each, so a launch must cost next to nothing:
//
//   - The caller works too; only size() - 1 threads are ours.
//   - The chunks of a launch are divided into ranges, one a thread (of many threads, neighbours
//     share one), and an atomic counter holds how many of a range are unclaimed. Taking one is one
//     fetch_sub. Whoever gets a positive count owns a chunk, and as long as he has not reported it
//     done the launch cannot end; so the launch's description may be read after the claim, without
//     a lock, even by a thread that slept through ten launches before this one.
//   - A thread takes the chunks of its own range first, then what others have left of theirs. So in
//     launch after launch it meets the same part of a tensor, which its caches hold: what it wrote
//     in the launch before, weights that it read in the step before.
//   - An idle worker watches its counter for some 50 us before it parks. Back-to-back launches
//     find it awake; a process that waits for its user burns no processor.
//   - A launch of one chunk, and a launch made from inside a launch, runs in place.
//
// Any thread may run any chunk, so items must not depend on which one does; then results do not
// depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace sinter::runtime {

class ThreadPool {
public:
  /// A pool of `threads` threads, the caller's included; 0 means one per processor that this
  /// process may use.
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// The number of threads that work, the caller's included.
  unsigned size() const { return static_cast<unsigned>(workers.size()) + 1; }

  /// The index in [0, size()) of the calling thread: 0 outside the pool. No two threads in one
  /// launch have the same.
  static unsigned getThreadIndex();

  /// Calls `fn(begin, end)` for pieces of at most `chunk` items that cover [0, grid) and returns
  /// when all are done. `fn` must not throw.
  template <typename Fn> void run(uint64_t grid, uint64_t chunk, Fn &&fn) {
    if (grid == 0)
      return;
    if (grid <= chunk || workers.empty()) {
      fn(uint64_t(0), grid);
      return;
    }
    using Callable = std::remove_reference_t<Fn>;
    launch(
        grid, chunk,
        [](void *callable, uint64_t begin, uint64_t end) {
          (*static_cast<Callable *>(callable))(begin, end);
        },
        const_cast<void *>(static_cast<const void *>(std::addressof(fn))));
  }

  /// A chunk size that keeps every thread busy to the end without claiming too often.
  uint64_t balancedChunk(uint64_t grid) const {
    uint64_t pieces = uint64_t(size()) * 4;
    return grid <= pieces ? 1 : (grid + pieces - 1) / pieces;
  }

private:
  using Body = void (*)(void *, uint64_t, uint64_t);

  void launch(uint64_t grid, uint64_t chunk, Body body, void *callable);
  void work(unsigned index, unsigned home);
  void drain(unsigned home);

  // Written by the caller before it publishes the ranges, read after a claim.
  struct Job {
    Body body = nullptr;
    void *callable = nullptr;
    uint64_t grid = 0;
    uint64_t chunk = 0;
    int64_t chunks = 0;
  } job;
  struct alignas(64) Range {
    std::atomic<int64_t> unclaimed{0};
  };

  /// The first chunk of a range of the current launch. Of fewer chunks than ranges the caller's has
  /// one, as that thread is awake.
  int64_t firstChunk(unsigned range) const {
    return (range * job.chunks + rangeCount - 1) / rangeCount;
  }

  // Who finds his own range empty looks at all others, which must not take long.
  static constexpr unsigned mostRanges = 16;
  Range ranges[mostRanges];
  unsigned rangeCount = 1;
  alignas(64) std::atomic<int64_t> unfinished{0};
  alignas(64) std::atomic<bool> busy{false};
  alignas(64) std::atomic<uint32_t> parked{0};
  alignas(64) std::atomic<uint32_t> wakeups{0};
  std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;
};

} // namespace sinter::runtime
