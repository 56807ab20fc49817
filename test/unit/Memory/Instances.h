//===- Instances.h - What the packer is tried on ----------------*- C++ -*-===//
#pragma once

#include "compiler/Memory/Packer.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace sinter {

/// A generator whose numbers are the same with every standard library.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15 + 1) {}
  /// Uniform in (0, 1).
  double uniform() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double(state >> 11) + 0.5) * 0x1p-53;
  }

private:
  uint64_t state;
};

/// `count` buffers that begin anywhere in `commands` commands and live `mean` of them on average;
/// sizes from 64 bytes to 8 MiB, their logarithms uniform.
inline std::vector<LiveBuffer> randomLives(Random &random, int64_t count, int64_t commands,
                                           int64_t mean) {
  std::vector<LiveBuffer> buffers;
  for (int64_t i = 0; i < count; ++i) {
    auto first = static_cast<int64_t>(random.uniform() * double(commands));
    auto last = first + static_cast<int64_t>(-std::log(random.uniform()) * double(mean));
    auto bytes = static_cast<int64_t>(std::exp2(6 + 17 * random.uniform()));
    buffers.push_back({bytes, first, std::min(last, 2 * commands)});
  }
  return buffers;
}

/// The buffers of a decoder's forward pass: the residual stream, and in each layer the normed
/// rows, q/k/v, attention's result and the MLP's hidden rows.
inline std::vector<LiveBuffer> decoderLayers(int64_t layers) {
  const int64_t rows = 512 * 768 * 4;
  std::vector<LiveBuffer> buffers;
  for (int64_t i = 0; i < layers; ++i) {
    int64_t t = 8 * i;
    buffers.insert(buffers.end(), {{rows, t, t + 4},           // residual
                                   {rows, t + 1, t + 2},       // norm
                                   {3 * rows, t + 2, t + 3},   // q, k, v
                                   {rows, t + 3, t + 4},       // attention
                                   {rows, t + 4, t + 8},       // residual
                                   {rows, t + 5, t + 6},       // norm
                                   {4 * rows, t + 6, t + 8}}); // hidden
  }
  return buffers;
}

} // namespace sinter
