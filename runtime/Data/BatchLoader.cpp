#include "runtime/Data/BatchLoader.h"

namespace sinter::runtime {

BatchLoader::BatchLoader(BatchReader reader, uint64_t accumulate, uint64_t firstStep)
    : reader(std::move(reader)), accumulate(accumulate), current(accumulate), coming(accumulate),
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
    for (uint64_t i = 0; i < accumulate; ++i)
      reader.read(number * accumulate + i, coming[i]);
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

uint64_t BatchLoader::bytes(const BatchOptions &options, uint64_t accumulate) {
  uint64_t arrays = options.endOfText ? 3 : 2;
  return 2 * accumulate * arrays * options.batch * options.sequence * sizeof(int32_t);
}

} // namespace sinter::runtime
