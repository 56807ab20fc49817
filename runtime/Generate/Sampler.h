//===- Sampler.h - From logits to a token -----------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sinter::runtime {

struct SamplerOptions {
  float temperature = 0; ///< 0 (or less): greedy, the largest logit
  int64_t topK = 0;      ///< keep the k largest; 0: all
  float topP = 1;        ///< keep the likeliest whose probabilities first reach p; 1: all
  uint64_t seed = 0;
};

/// Chooses tokens. The same logits and options give the same tokens: ties go to the lowest id, sums
/// are made in one order, and the random numbers come from a counter of our own.
class Sampler {
public:
  /// For vocabularies of up to `vocabulary` tokens; choosing allocates nothing.
  Sampler(const SamplerOptions &options, size_t vocabulary);

  /// The next token. Order of the steps: top-k, temperature, top-p. NaNs count as the least.
  int32_t choose(std::span<const float> logits);

private:
  struct Candidate {
    float logit;
    int32_t id;
  };
  double uniform();

  SamplerOptions options;
  uint64_t counter = 0;
  std::vector<Candidate> candidates;
  std::vector<double> weights;
};

} // namespace sinter::runtime
