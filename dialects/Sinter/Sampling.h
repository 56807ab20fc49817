//===- Sampling.h - Drawing a token by its probability ----------*- C++ -*-===//
//
// What `sinter.sample` (RandomOps.td) says, in plain C++ that kernels are compared with, and the
// numbers that they have in common.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/Philox.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace sinter::sampling {

/// A weight of the likeliest token is 2^kWeightBits. With no more than kMaxVocabulary tokens all
/// sums of weights are whole numbers of at most 53 bits, exact in f64 in any order.
inline constexpr int kWeightBits = 33;
inline constexpr int64_t kMaxVocabulary = 1 << 20;

/// Below the largest logit by so many temperatures, weights are 0: 2^33 e^-24 is 0.32.
inline constexpr double kNegligible = 24;

/// A multiple of 2^-53 from [0, 1) for the token at a position.
constexpr double uniform(uint32_t position, std::array<uint32_t, 2> seed) {
  std::array<uint32_t, 4> words = philox::generate({position, 0, 0, 0}, seed);
  return ((words[0] >> 5) * 67108864.0 + (words[1] >> 6)) * 0x1p-53;
}

/// What a token is drawn by.
struct Settings {
  double temperature = 0, topK = 0, topP = 1, minP = 0;
  std::array<uint32_t, 2> seed = {};
  uint32_t position = 0;
};

/// The id that is drawn from a row of logits, or -1.
inline int64_t draw(std::span<const double> logits, const Settings &settings) {
  std::vector<int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  if (std::any_of(logits.begin(), logits.end(), [](double x) { return std::isnan(x); }))
    return -1;
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  });
  double largest = logits[order.front()];
  if (std::isinf(largest))
    return -1;
  if (!(settings.temperature > 0))
    return order.front();

  auto weigh = [&](int64_t id) {
    double likelihood = std::exp((logits[id] - largest) / settings.temperature);
    return std::floor(std::ldexp(likelihood, kWeightBits));
  };
  auto weighAll = [&] {
    return std::accumulate(order.begin(), order.end(), 0.0,
                           [&](double sum, int64_t id) { return sum + weigh(id); });
  };
  // Of equal logits some may have been left out: these come last.
  double last = -std::numeric_limits<double>::infinity();
  auto keep = [&](size_t count) {
    order.resize(count);
    last = logits[order.back()];
  };
  if (settings.topK >= 1 && settings.topK <= static_cast<double>(order.size()))
    keep(static_cast<size_t>(settings.topK));
  if (settings.topP < 1) {
    double wanted = settings.topP * weighAll(), reached = weigh(order.front());
    size_t count = 1;
    while (reached < wanted)
      reached += weigh(order[count++]);
    keep(count);
  }

  double fewest = std::ldexp(settings.minP, kWeightBits);
  order.erase(
      std::remove_if(order.begin(), order.end(), [&](int64_t id) { return weigh(id) < fewest; }),
      order.end());
  double drawn = weighAll() * uniform(settings.position, settings.seed), sum = 0;
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::pair(logits[a] == last, a) < std::pair(logits[b] == last, b);
  });
  return *std::find_if(order.begin(), order.end(),
                       [&](int64_t id) { return (sum += weigh(id)) > drawn; });
}

} // namespace sinter::sampling
