//===- Clocks.cpp - What happened before what, in one block ---------------===//
#include "test/simt/Clocks.h"

#include <algorithm>

using namespace sinter::simt;

void Clocks::start(unsigned threads) {
  times.assign(threads, 1);
  views.assign(threads, View{});
  for (unsigned thread = 0; thread < threads; ++thread)
    views[thread].thread = thread;
}

void Clocks::joinBlock() {
  Time floor = *std::max_element(times.begin(), times.end());
  std::fill(times.begin(), times.end(), floor + 1);
  for (View &view : views)
    view.floor = floor;
}

void Clocks::joinWarp(unsigned warp, uint32_t lanes) {
  auto forEach = [&](auto visit) {
    for (unsigned lane = 0; lane < 32; ++lane)
      if (lanes >> lane & 1)
        visit(lane, views[warp * 32 + lane]);
  };
  Time all[32] = {};
  forEach([&](unsigned, View &view) {
    for (unsigned i = 0; i < 32; ++i)
      all[i] = std::max(all[i], view.lanes[i]);
  });
  forEach([&](unsigned lane, View &view) { all[lane] = times[view.thread]; });
  forEach([&](unsigned, View &view) {
    std::copy(all, all + 32, view.lanes);
    ++times[view.thread];
  });
}

Clocks::View Clocks::publish(unsigned thread) {
  View view = views[thread];
  view.lanes[thread % 32] = times[thread]++;
  return view;
}
