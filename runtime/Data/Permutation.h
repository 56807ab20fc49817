//===- Permutation.h - A shuffle that takes no memory -----------*- C++ -*-===//
//
// A permutation of [0, count) as a function: no table, any element at any time. So a shuffled run
// resumes at its position without replaying what came before.
//
// A Feistel network permutes the numbers of 2h bits: it cuts x into halves (left, right) and, round
// by round, maps them to (right, left ^ f(right)), which can be undone whatever f is. With 4^h just
// above `count`, an image that is too large is sent through again until it falls into [0, count)
// ("cycle walking"): since the network is a permutation, walking along its cycle from an element
// comes to the next element of the range, and to no other element's. A step of the walk falls
// inside with a probability above 1/4.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>

namespace sinter::runtime {

/// The finalizer of SplitMix64: every bit of the result depends on every bit of `x`; no two have
/// the same image.
constexpr uint64_t mixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Permutation {
public:
  /// Another permutation for every seed and every epoch. @pre count > 0
  Permutation(uint64_t count, uint64_t seed, uint64_t epoch);

  /// The image of `index`. @pre index < count
  uint64_t operator()(uint64_t index) const;

private:
  uint64_t count;
  unsigned halfBits;
  std::array<uint64_t, 6> keys;
};

} // namespace sinter::runtime
