#include "runtime/Base/ThreadPool.h"
#include "runtime/Base/Processor.h"
#include <algorithm>
#include <chrono>

namespace sinter::runtime {
namespace {

thread_local unsigned currentIndex = 0;

constexpr auto spinTime = std::chrono::microseconds(50);
constexpr unsigned spinsPerClockRead = 64;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

} // namespace

ThreadPool::ThreadPool(unsigned threads) {
  if (threads == 0)
    threads = static_cast<unsigned>(usableProcessors().size());
  rangeCount = std::min(threads, mostRanges);
  workers.reserve(threads - 1);
  for (unsigned index = 1; index < threads; ++index)
    workers.emplace_back([this, index, home = index * rangeCount / threads] { work(index, home); });
}

ThreadPool::~ThreadPool() {
  stopping = true;
  wakeups.fetch_add(1);
  wakeups.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

unsigned ThreadPool::getThreadIndex() { return currentIndex; }

// Claims and runs chunks until none is left, those of the range `home` first. The chunks are
// reported in one go: a thread that holds an unreported chunk keeps the launch alive, so a failed
// claim is one of the same launch.
void ThreadPool::drain(unsigned home) {
  int64_t finished = 0;
  for (unsigned i = 0; i < rangeCount; ++i) {
    unsigned range = home + i < rangeCount ? home + i : home + i - rangeCount;
    std::atomic<int64_t> &unclaimed = ranges[range].unclaimed;
    // A look costs less than a claim, and most ranges of others are empty.
    while (unclaimed.load(std::memory_order_relaxed) > 0) {
      int64_t left = unclaimed.fetch_sub(1, std::memory_order_acquire);
      if (left <= 0)
        break;
      uint64_t begin = static_cast<uint64_t>(firstChunk(range + 1) - left) * job.chunk;
      uint64_t end = job.grid - begin < job.chunk ? job.grid : begin + job.chunk;
      job.body(job.callable, begin, end);
      ++finished;
    }
  }
  if (finished != 0)
    unfinished.fetch_sub(finished, std::memory_order_release);
}

void ThreadPool::launch(uint64_t grid, uint64_t chunk, Body body, void *callable) {
  // From inside a launch, or beside one of another thread: do it alone.
  if (busy.exchange(true, std::memory_order_acquire)) {
    body(callable, 0, grid);
    return;
  }
  if (chunk == 0)
    chunk = 1;
  int64_t chunks = static_cast<int64_t>((grid + chunk - 1) / chunk);
  job = {body, callable, grid, chunk, chunks};
  unfinished.store(chunks, std::memory_order_relaxed);
  for (unsigned range = rangeCount; range-- > 0;)
    ranges[range].unclaimed.store(firstChunk(range + 1) - firstChunk(range),
                                  std::memory_order_seq_cst);
  // Either we see the worker parked here, or it sees the chunks before it sleeps.
  if (parked.load(std::memory_order_seq_cst) != 0) {
    wakeups.fetch_add(1, std::memory_order_seq_cst);
    wakeups.notify_all();
  }
  drain(0);
  for (unsigned spins = 0; unfinished.load(std::memory_order_acquire) != 0; ++spins) {
    pause();
    // A worker that has lost its processor needs ours.
    if (spins % 4096 == 4095)
      std::this_thread::yield();
  }
  busy.store(false, std::memory_order_release);
}

void ThreadPool::work(unsigned index, unsigned home) {
  currentIndex = index;
  const std::atomic<int64_t> &unclaimed = ranges[home].unclaimed;
  while (!stopping.load(std::memory_order_relaxed)) {
    auto deadline = std::chrono::steady_clock::now() + spinTime;
    bool found = false;
    do {
      for (unsigned spins = 0; spins < spinsPerClockRead && !found; ++spins) {
        found = unclaimed.load(std::memory_order_relaxed) > 0;
        if (!found)
          pause();
      }
    } while (!found && std::chrono::steady_clock::now() < deadline);
    if (found) {
      drain(home);
      continue;
    }
    parked.fetch_add(1, std::memory_order_seq_cst);
    uint32_t ticket = wakeups.load(std::memory_order_seq_cst);
    if (unclaimed.load(std::memory_order_seq_cst) <= 0 && !stopping)
      wakeups.wait(ticket, std::memory_order_seq_cst);
    parked.fetch_sub(1, std::memory_order_seq_cst);
  }
}

} // namespace sinter::runtime
