#include "runtime/Checkpoint/CheckpointWriter.h"
#include <cassert>
#include <sys/resource.h>
#include <unistd.h>

namespace sinter::runtime {
namespace {

// Enough for a tenth of a processor where all are busy.
constexpr int niceness = 10;

} // namespace

CheckpointWriter::CheckpointWriter(CheckpointFolder folder, uint64_t keep)
    : folder(std::move(folder)), keep(keep), thread([this] { work(); }) {}

CheckpointWriter::~CheckpointWriter() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  thread.join();
}

void CheckpointWriter::work() {
  // Linux has priorities of threads, by their own ids. Where it may not, it runs as all others.
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness);
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return busy || stopping; });
    if (!busy)
      return;
    // While busy, `step`, `files` and `ready` belong to this thread.
    lock.unlock();
    Expected<void> done = ready ? ready() : Expected<void>();
    if (done)
      done = folder.write(step, files);
    if (done)
      done = folder.removeOld(step, keep);
    lock.lock();
    result = std::move(done);
    busy = false;
    changed.notify_all();
  }
}

Expected<void> CheckpointWriter::wait() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return !busy; });
  return std::exchange(result, Expected<void>());
}

void CheckpointWriter::start(uint64_t newStep, std::vector<CheckpointFile> newFiles,
                             std::function<Expected<void>()> newReady) {
  std::lock_guard lock(mutex);
  assert(!busy && "a write is under way");
  step = newStep;
  files = std::move(newFiles);
  ready = std::move(newReady);
  busy = true;
  changed.notify_all();
}

} // namespace sinter::runtime
