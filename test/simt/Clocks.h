//===- Clocks.h - What happened before what, in one block -------*- C++ -*-===//
//
// Two accesses race unless something orders them: a barrier of the block, a __syncwarp, or that one
// thread did both. Whether something does is told by clocks. Every thread counts its own time,
// which steps on when it publishes what it did; and every thread knows of every other up to which
// time it has seen its work. An access at time c of thread x happened before what thread t does now
// exactly if t knows of x up to c or later.
//
// A table of all pairs would make a barrier of n threads cost n * n. But a barrier of the block
// tells everyone everything, so all that was before it fits into one number, the floor; and in
// between only lanes of one warp exchange anything. So there is a floor for the block, and above it
// a table of 32 by 32 for each warp:
//
//   thread 0: writes a[0] at its time 1    __syncwarp (publishes 1, time is 2)
//   thread 1: at __syncwarp learns "0 up to 1"; reading a[0] is ordered
//   thread 40: in another warp knows of thread 0 only the floor, 0 < 1: reading a[0] is a race
//   __syncthreads: the floor becomes 2; everybody's time is 3; reading a[0] is ordered
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace sinter::simt {

class Clocks {
public:
  using Time = uint32_t;

  /// What one thread knew at some moment, itself included.
  struct View {
    unsigned thread;
    Time floor;
    Time lanes[32]; ///< of its warp

    bool knows(unsigned other, Time time) const {
      return time <= floor || (thread / 32 == other / 32 && lanes[other % 32] >= time);
    }
  };

  /// A block of so many threads, none of which knows anything.
  void start(unsigned threads);

  /// The time of the thread, which what it does now bears.
  Time now(unsigned thread) const { return times[thread]; }

  /// Whether `thread` has seen what `other` did at that time.
  bool knows(unsigned thread, unsigned other, Time time) const {
    return thread == other || views[thread].knows(other, time);
  }

  /// All threads of the block that are left have met.
  void joinBlock();
  /// These lanes of the warp have met.
  void joinWarp(unsigned warp, uint32_t lanes);
  /// What the thread has done and seen; what it does from now on is later than that.
  View publish(unsigned thread);

private:
  std::vector<Time> times;
  std::vector<View> views;
};

} // namespace sinter::simt
