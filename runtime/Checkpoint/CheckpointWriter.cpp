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
    // While busy, the job and what it writes belong to this thread.
    lock.unlock();
    Expected<void> done = job();
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

bool CheckpointWriter::isIdle() const {
  std::lock_guard lock(mutex);
  return !busy;
}

void CheckpointWriter::begin(std::function<Expected<void>()> newJob) {
  std::lock_guard lock(mutex);
  assert(!busy && "a write is under way");
  job = std::move(newJob);
  busy = true;
  changed.notify_all();
}

void CheckpointWriter::start(uint64_t step, std::vector<CheckpointFile> files, Ready ready) {
  begin([=, this, files = std::move(files), ready = std::move(ready)]() -> Expected<void> {
    if (ready)
      SINTER_CHECK(ready());
    SINTER_CHECK(folder.write(step, files));
    return folder.removeOld(step, keep);
  });
}

void CheckpointWriter::startFiles(uint64_t step, std::vector<CheckpointFile> files, Ready ready) {
  begin([=, this, files = std::move(files), ready = std::move(ready)]() -> Expected<void> {
    if (ready)
      SINTER_CHECK(ready());
    SINTER_TRY(manifest, folder.writeFiles(step, files));
    return {};
  });
}

void CheckpointWriter::startFinish(uint64_t step, Manifest whole) {
  begin([=, this, whole = std::move(whole)]() -> Expected<void> {
    SINTER_CHECK(folder.finish(step, whole));
    return folder.removeOld(step, keep);
  });
}

} // namespace sinter::runtime
