//===- Packer.h - Buffers into one arena ------------------------*- C++ -*-===//
//
// Offline storage allocation: every buffer is known with its size and the commands between which
// it lives; each gets a fixed offset so that no two that live at once overlap, and the arena, the
// highest end, is to be small. Drawn with time to the right and offsets upwards, a buffer is a
// rectangle that may slide up and down but not sideways:
//
//     offset
//       ^        +-----+
//       |        |  C  |+---+      A lives in commands 0..9, B in 0..3, C in 3..6, D in 7..9.
//       | +------+--+--+| D |      At command 3 A, B and C live: their sum is the lower bound of
//       | |    B    |   +---+      every arena. D could slide down to where B was.
//       | +---------+--------+
//       | |         A        |
//       +-+------------------+--> command
//
// The problem is NP-hard, real instances are not: most end at the lower bound, which proves that
// they are done. Three searches are tried until one proves it or the budget is spent:
//
// 1. Skyline: rectangles are laid from the bottom up. Of the lowest flat stretch of the skyline,
//    take the buffer that fits into it and is first by a criterion (lifetime, size or area); where
//    none fits, the stretch is lost and rises to its lower neighbour. O(n log n) a criterion.
// 2. First fit in an order (by size, by area, ...): each buffer at the lowest offset that is free
//    for its whole life. O(n^2) at the worst.
// 3. Repair: the highest buffer and what lives with it are taken out and laid anew around the rest,
//    by first fit; buffers that still stick out choose earlier next time (squeaky wheel). Where
//    too many lives overlap for that, more skylines with other preferences.
//
// Where a MiB and a 64th of the bound are left over, all of it once more with ten times the budget,
// from what the boxes of a 512th of the bound and more come to without the others.
//
// The budget counts steps, never seconds: equal input gives equal output on every machine.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

/// A buffer to be placed: `bytes` long, alive from command `first` to command `last`, both
/// included.
struct LiveBuffer {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
};

/// Where the buffers went.
struct Packing {
  std::vector<int64_t> offsets; ///< one a buffer, in the order given, multiples of the alignment
  int64_t arenaBytes = 0;       ///< the highest end, a multiple of the alignment
  int64_t lowerBound = 0;       ///< peak over the commands of the aligned sizes of what lives
};

/// Places buffers in one arena.
class Packer {
public:
  /// Offsets will be multiples of `alignment` bytes; `budget` bounds the search (elementary steps;
  /// the default takes some 20 ms, ten times as long where much is left over).
  explicit Packer(int64_t alignment = 64, int64_t budget = 4'000'000)
      : alignment(alignment), budget(budget) {}

  /// Places all buffers. Deterministic. Buffers of no bytes get offset 0.
  /// @pre bytes >= 0 and first <= last for each.
  Packing pack(std::span<const LiveBuffer> buffers) const;

  /// The peak of live bytes, sizes rounded up to the alignment.
  int64_t lowerBound(std::span<const LiveBuffer> buffers) const;

private:
  int64_t alignment;
  int64_t budget;
};

} // namespace sinter
