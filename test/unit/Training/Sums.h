// The sum that GradientTree.h describes, by its definition.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sinter::runtime::testing {

/// Adds numbers, or vectors of them element by element, one after the other, from zero.
template <typename T> T sumInOrder(std::span<const T> terms) {
  T sum = terms.front();
  for (const T &term : terms.subspan(1))
    if constexpr (requires { sum.size(); })
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += term[i];
    else
      sum += term;
  return sum;
}

/// The sum of `terms` along the tree of at most `leaves` leaves: the binary counter's.
template <typename T> T sumOfTree(std::span<const T> terms, uint64_t leaves) {
  size_t leaf = (terms.size() + leaves - 1) / leaves;
  std::vector<std::pair<size_t, T>> sums; // how many leaves each has
  auto merge = [&] {
    std::pair<size_t, T> later = std::move(sums.back());
    sums.pop_back();
    T both[] = {sums.back().second, later.second};
    sums.back() = {sums.back().first + later.first, sumInOrder<T>(both)};
  };
  for (size_t i = 0; i < terms.size(); i += leaf) {
    sums.emplace_back(1, sumInOrder(terms.subspan(i, std::min(leaf, terms.size() - i))));
    while (sums.size() > 1 && sums[sums.size() - 2].first == sums.back().first)
      merge();
  }
  while (sums.size() > 1)
    merge();
  return sums.front().second;
}

} // namespace sinter::runtime::testing
