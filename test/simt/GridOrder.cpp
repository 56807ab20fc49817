//===- GridOrder.cpp - What orders the blocks of a grid -------------------===//
#include "test/simt/GridOrder.h"

#include <algorithm>

using namespace sinter::simt;

void GridOrder::startLaunch() { published.clear(); }

void GridOrder::startBlock(unsigned threads) {
  fences.assign(threads, std::nullopt);
  acquired.clear();
}

void GridOrder::atomic(const void *address, uint32_t block, unsigned thread, Time now) {
  if (fences[thread])
    published[address].emplace(block, *fences[thread]);
  acquired.push_back({address, thread, now});
}

bool GridOrder::knows(unsigned thread, const Clocks &clocks, uint32_t block, unsigned other,
                      Time time) const {
  return std::any_of(acquired.begin(), acquired.end(), [&](const Acquired &event) {
    auto object = published.find(event.address);
    if (object == published.end() || !clocks.knows(thread, event.thread, event.time))
      return false;
    auto [first, last] = object->second.equal_range(block);
    return std::any_of(first, last,
                       [&](const auto &entry) { return entry.second.knows(other, time); });
  });
}

bool GridOrder::knowsAtomics(unsigned thread, const Clocks &clocks, const void *address) const {
  return std::any_of(acquired.begin(), acquired.end(), [&](const Acquired &event) {
    return event.address == address && clocks.knows(thread, event.thread, event.time);
  });
}
