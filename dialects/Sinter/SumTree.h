//===- SumTree.h - The order of a sum over ranks ----------------*- C++ -*-===//
#pragma once

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace sinter {

/// The sum of the terms 0 .. `count` - 1 in the order that a step's gradients are added in, as
/// runtime/Train/GradientTree.h does it over time: two sums of as many terms as soon as there are
/// both, and what is left at the end from the last one to the first. Each term is asked for once,
/// in order.
/// @pre at least one term.
template <typename T, typename Term, typename Add>
T sumAlongTree(int64_t count, Term getTerm, Add add) {
  // Sums that wait for one of as many terms.
  llvm::SmallVector<std::pair<int64_t, T>> waiting;
  auto addLastTwo = [&] {
    auto [terms, sum] = waiting.pop_back_val();
    waiting.back() = {waiting.back().first + terms, add(waiting.back().second, sum)};
  };
  for (int64_t i = 0; i < count; ++i) {
    waiting.push_back({1, getTerm(i)});
    while (waiting.size() > 1 && waiting.end()[-2].first == waiting.back().first)
      addLastTwo();
  }
  while (waiting.size() > 1)
    addLastTwo();
  return waiting.front().second;
}

} // namespace sinter
