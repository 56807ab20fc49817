//===- GridOrder.h - What orders the blocks of a grid -----------*- C++ -*-===//
//
// Blocks run in any order, so what one writes another must not touch: with one exception, by which
// the last block to arrive combines what all of them wrote.
//
//   block a: partial[a] = ...; __syncthreads();
//            thread 0: __threadfence(); ticket = atomicAdd(&count, 1);
//   block b: thread 0: the same, and its ticket is the last; __syncthreads();
//            all threads read partial[a]
//
// The fence takes down what thread 0 of block a has seen by then; the atomic operation publishes
// that at the address; the one of block b on the same address acquires all that was published
// there; and
// __syncthreads tells the rest of block b. Only this is recognised: a flag that is polled, or a
// chain over two addresses, is not, and reading behind those is a race.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/simt/Clocks.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace sinter::simt {

class GridOrder {
public:
  using Time = Clocks::Time;

  void startLaunch();
  void startBlock(unsigned threads);

  /// __threadfence of a thread of the current block.
  void fence(unsigned thread, Clocks &clocks) { fences[thread] = clocks.publish(thread); }
  /// An atomic operation: publishes what the thread's last fence took down, and acquires.
  void atomic(const void *address, uint32_t block, unsigned thread, Time now);

  /// Whether `thread` of the current block has seen what thread `other` of block `block` did then.
  bool knows(unsigned thread, const Clocks &clocks, uint32_t block, unsigned other,
             Time time) const;
  /// Whether `thread` comes after an atomic operation that its block did on `address`; it then also
  /// comes after those of the blocks before.
  bool knowsAtomics(unsigned thread, const Clocks &clocks, const void *address) const;

private:
  using Published = std::multimap<uint32_t, Clocks::View>; // by block
  struct Acquired {
    const void *address;
    unsigned thread;
    Time time;
  };

  std::unordered_map<const void *, Published> published; // by address
  std::vector<std::optional<Clocks::View>> fences;       // of the current block's threads
  std::vector<Acquired> acquired;                        // by the current block
};

} // namespace sinter::simt
