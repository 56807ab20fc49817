#include "runtime/Data/Permutation.h"
#include <algorithm>
#include <bit>
#include <cassert>

namespace sinter::runtime {

Permutation::Permutation(uint64_t count, uint64_t seed, uint64_t epoch) : count(count) {
  assert(count > 0 && count <= uint64_t(1) << 62 && "no range to permute");
  // Halves of a bit or two would leave most permutations out.
  halfBits = std::max(4u, (static_cast<unsigned>(std::bit_width(count - 1)) + 1) / 2);
  uint64_t key = mixBits(mixBits(seed + 0x9e3779b97f4a7c15) + epoch);
  for (uint64_t &round : keys)
    round = key = mixBits(key + 0x9e3779b97f4a7c15);
}

uint64_t Permutation::operator()(uint64_t index) const {
  assert(index < count && "outside of the range");
  uint64_t mask = (uint64_t(1) << halfBits) - 1;
  do {
    uint64_t left = index >> halfBits, right = index & mask;
    for (uint64_t key : keys) {
      uint64_t mixed = left ^ (mixBits(right + key) & mask);
      left = right;
      right = mixed;
    }
    index = left << halfBits | right;
  } while (index >= count);
  return index;
}

} // namespace sinter::runtime
