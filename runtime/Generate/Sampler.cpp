#include "runtime/Generate/Sampler.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace sinter::runtime {
namespace {

int32_t largest(std::span<const float> logits) {
  size_t best = 0;
  bool found = false;
  for (size_t i = 0; i < logits.size(); ++i)
    if (!std::isnan(logits[i]) && (!found || logits[i] > logits[best])) {
      best = i;
      found = true;
    }
  return static_cast<int32_t>(best);
}

} // namespace

Sampler::Sampler(const SamplerOptions &options, size_t vocabulary) : options(options) {
  candidates.reserve(vocabulary);
  weights.reserve(vocabulary);
}

// SplitMix64 over (seed, counter), as a number in [0, 1).
double Sampler::uniform() {
  uint64_t x = options.seed + ++counter * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return double((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

int32_t Sampler::choose(std::span<const float> logits) {
  if (!(options.temperature > 0))
    return largest(logits);

  candidates.clear();
  for (size_t i = 0; i < logits.size(); ++i)
    candidates.push_back(
        {std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity() : logits[i],
         static_cast<int32_t>(i)});
  auto likelier = [](const Candidate &a, const Candidate &b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  };
  size_t kept = candidates.size();
  if (options.topK > 0 && static_cast<size_t>(options.topK) < kept) {
    kept = static_cast<size_t>(options.topK);
    std::nth_element(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(kept),
                     candidates.end(), likelier);
    candidates.resize(kept);
  }
  // Sorted in every case, so that equal options with and without top-k sum in one order.
  std::sort(candidates.begin(), candidates.end(), likelier);
  float highest = candidates.front().logit;
  if (!std::isfinite(highest))
    return candidates.front().id;

  weights.clear();
  double total = 0;
  for (const Candidate &candidate : candidates) {
    weights.push_back(std::exp((double(candidate.logit) - highest) / options.temperature));
    total += weights.back();
  }
  if (options.topP < 1) {
    double reached = 0;
    size_t count = 0;
    while (count < kept && reached < options.topP * total)
      reached += weights[count++];
    kept = std::max<size_t>(count, 1);
    total = count ? reached : weights.front();
  }
  double target = uniform() * total;
  for (size_t i = 0; i + 1 < kept; ++i) {
    target -= weights[i];
    if (target < 0)
      return candidates[i].id;
  }
  return candidates[kept - 1].id;
}

} // namespace sinter::runtime
