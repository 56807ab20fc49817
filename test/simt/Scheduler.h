//===- Scheduler.h - Whose turn it is ---------------------------*- C++ -*-===//
//
// A thread runs until it has to wait. Which one goes on then is the schedule's choice: a kernel
// that is right gives the same result in every order, and one whose result depends on the order has
// a race. So tests run under several.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace sinter::simt {

/// In which order blocks run one after another and threads take turns.
struct Schedule {
  enum class Order { Forward, Reverse, Shuffled };

  Order order = Order::Forward;
  unsigned seed = 1; ///< of Shuffled
};

/// The numbers 0 to count - 1 in the schedule's order: the order of the blocks of a grid.
std::vector<unsigned> blockOrder(unsigned count, const Schedule &schedule);

/// Keeps which threads of a block could go on, and picks one.
class Scheduler {
public:
  static constexpr unsigned none = ~0u;

  /// The blocks that follow are run in this order.
  void follow(const Schedule &schedule);
  /// A block of so many threads, all of them ready.
  void start(unsigned threads);

  void makeReady(unsigned thread) { makeReady(thread / 32, 1u << (thread % 32)); }
  /// The lanes of one warp.
  void makeReady(unsigned warp, uint32_t lanes) {
    ready[warp] |= lanes;
    readyWarps |= 1u << warp;
  }
  void makeWaiting(unsigned thread) {
    unsigned warp = thread / 32;
    ready[warp] &= ~(1u << (thread % 32));
    if (!ready[warp])
      readyWarps &= ~(1u << warp);
  }

  /// The thread that goes on, or none. A warp keeps its turn while it has a thread that can go on;
  /// Shuffled takes it away at times.
  unsigned next();

private:
  unsigned nextWarp();

  Schedule::Order order = Schedule::Order::Forward;
  std::minstd_rand random;
  unsigned warp = 0;
  uint32_t readyWarps = 0;
  uint32_t ready[32] = {};
};

} // namespace sinter::simt
