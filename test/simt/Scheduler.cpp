//===- Scheduler.cpp - Whose turn it is -----------------------------------===//
#include "test/simt/Scheduler.h"

#include <algorithm>
#include <bit>
#include <numeric>

using namespace sinter::simt;

namespace {

unsigned lowest(uint32_t bits) { return unsigned(std::countr_zero(bits)); }
unsigned highest(uint32_t bits) { return 31 - unsigned(std::countl_zero(bits)); }

unsigned anyOf(uint32_t bits, std::minstd_rand &random) {
  for (unsigned skip = unsigned(random() % unsigned(std::popcount(bits))); skip; --skip)
    bits &= bits - 1;
  return lowest(bits);
}

} // namespace

std::vector<unsigned> sinter::simt::blockOrder(unsigned count, const Schedule &schedule) {
  std::vector<unsigned> blocks(count);
  std::iota(blocks.begin(), blocks.end(), 0u);
  if (schedule.order == Schedule::Order::Reverse)
    std::reverse(blocks.begin(), blocks.end());
  if (schedule.order == Schedule::Order::Shuffled)
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(schedule.seed));
  return blocks;
}

void Scheduler::follow(const Schedule &schedule) {
  order = schedule.order;
  random.seed(schedule.seed);
}

void Scheduler::start(unsigned threads) {
  readyWarps = 0;
  for (unsigned first = 0; first < threads; first += 32)
    makeReady(first / 32, threads - first >= 32 ? ~0u : (1u << (threads - first)) - 1);
  warp = order == Schedule::Order::Reverse ? (threads - 1) / 32 : 0;
}

unsigned Scheduler::next() {
  if (!readyWarps)
    return none;
  bool shuffled = order == Schedule::Order::Shuffled;
  if (!ready[warp] || (shuffled && random() % 8 == 0))
    warp = nextWarp();
  uint32_t lanes = ready[warp];
  unsigned lane = shuffled                            ? anyOf(lanes, random)
                  : order == Schedule::Order::Reverse ? highest(lanes)
                                                      : lowest(lanes);
  return warp * 32 + lane;
}

unsigned Scheduler::nextWarp() {
  switch (order) {
  case Schedule::Order::Shuffled:
    return anyOf(readyWarps, random);
  case Schedule::Order::Reverse: {
    uint32_t below = readyWarps & ((1u << warp) - 1);
    return highest(below ? below : readyWarps);
  }
  case Schedule::Order::Forward:
    break;
  }
  uint32_t above = readyWarps & ~((2u << warp) - 1);
  return lowest(above ? above : readyWarps);
}
