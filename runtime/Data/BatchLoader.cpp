#include "runtime/Data/BatchLoader.h"

namespace sinter::runtime {

BatchLoader::BatchLoader(BatchReader reader, const StepShare &share, uint64_t firstStep)
    : reader(std::move(reader)), share(share), current(share.count), coming(share.count),
      nextStep(firstStep), thread([this] { work(); }) {}

BatchLoader::~BatchLoader() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  thread.join();
}

void BatchLoader::work() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    if (ready) {
      changed.wait(lock);
      continue;
    }
    // Nobody else touches `coming` while it is not ready.
    uint64_t number = nextStep;
    lock.unlock();
    for (uint64_t i = 0; i < share.count; ++i)
      reader.read(number * share.total + share.begin + i * share.stride, coming[i]);
    lock.lock();
    ready = true;
    changed.notify_all();
  }
}

std::span<const Microbatch> BatchLoader::next() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return ready; });
  std::swap(current, coming);
  ++nextStep;
  ready = false;
  changed.notify_all();
  return current;
}

uint64_t BatchLoader::bytes(const BatchOptions &options, uint64_t count) {
  uint64_t arrays = options.endOfText ? 3 : 2;
  return 2 * count * arrays * options.batch * options.sequence * sizeof(int32_t);
}

} // namespace sinter::runtime
