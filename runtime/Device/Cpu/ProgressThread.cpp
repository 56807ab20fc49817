#include "runtime/Device/Cpu/ProgressThread.h"

namespace sinter::runtime {

ProgressThread::ProgressThread() : thread([this] { work(); }) {}

ProgressThread::~ProgressThread() {
  stopping = true;
  ++begun;
  begun.notify_all();
  thread.join();
}

Expected<void> ProgressThread::run(const Recording &walked, ThreadPool &threads,
                                   const std::function<void(size_t)> &begin) {
  recording = &walked;
  pool = &threads;
  done[own] = done[communication] = 0;
  failed = false;
  error.reset();
  uint64_t number = ++begun;
  begun.notify_all();
  walk(own, begin);
  if (ended.load() != number)
    begin(recording->lastCollective);
  for (uint64_t last; (last = ended.load()) != number;)
    ended.wait(last);
  return error ? Expected<void>(tl::unexpected(*error)) : Expected<void>();
}

void ProgressThread::work() {
  for (uint64_t number = 1;; ++number) {
    for (uint64_t last; (last = begun.load()) < number;)
      begun.wait(last);
    if (stopping)
      return;
    walk(communication, [](size_t) {});
    ended = number;
    ended.notify_all();
  }
}

void ProgressThread::walk(uint32_t stream, const std::function<void(size_t)> &begin) {
  for (size_t i = 0; i < recording->steps.size() && !failed; ++i) {
    const Recording::Order &order = recording->order[i];
    if (order.stream != stream)
      continue;
    for (uint32_t other : order.waits) {
      begin(other);
      waitFor(other);
    }
    if (failed)
      break;
    begin(i);
    if (Expected<void> ran = recording->runStep(i, *pool); !ran)
      fail(std::move(ran).error());
    done[stream] = i + 1;
    done[stream].notify_all();
  }
}

void ProgressThread::waitFor(size_t step) {
  std::atomic<size_t> &other = done[recording->order[step].stream];
  for (size_t last; (last = other.load()) <= step && !failed;)
    other.wait(last);
}

// Who waits for a step that will not be done wakes up.
void ProgressThread::fail(Error found) {
  {
    std::lock_guard lock(mutex);
    if (!error)
      error = std::move(found);
  }
  failed = true;
  for (std::atomic<size_t> &each : done) {
    each = recording->steps.size();
    each.notify_all();
  }
}

} // namespace sinter::runtime
