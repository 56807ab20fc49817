//===- Philox.h - Random numbers from a counter -----------------*- C++ -*-===//
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011):
// a keyed bijection of four words that passes the usual tests of randomness. There is no state:
// word e of a tensor's random numbers is a function of e, so that elements are computed in any
// order, on any thread, and again in the backward pass, with the same result.
//
//   round:  (c0, c1, c2, c3) -> (hi(M1 c2) ^ c1 ^ k0, lo(M1 c2), hi(M0 c0) ^ c3 ^ k1, lo(M0 c0))
//           (k0, k1)         -> (k0 + W0, k1 + W1)
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace sinter::philox {

inline constexpr uint32_t kMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
inline constexpr uint32_t kWeyl[2] = {0x9E3779B9, 0xBB67AE85};
inline constexpr int kRounds = 10;

/// The four random words of a counter and a key.
constexpr std::array<uint32_t, 4> generate(std::array<uint32_t, 4> counter,
                                           std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    uint64_t first = uint64_t(kMultipliers[0]) * counter[0];
    uint64_t second = uint64_t(kMultipliers[1]) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key = {key[0] + kWeyl[0], key[1] + kWeyl[1]};
  }
  return counter;
}

/// Words below it are dropped.
/// @pre 0 <= probability < 1.
constexpr uint32_t getThreshold(double probability) {
  return static_cast<uint32_t>(probability * 4294967296.0);
}

/// Whether element `index` of a tensor with random numbers of its own is kept.
constexpr bool isKept(uint64_t index, uint32_t stream, std::array<uint32_t, 2> seed,
                      double probability) {
  return generate({uint32_t(index), uint32_t(index >> 32), stream, 0}, seed)[0] >=
         getThreshold(probability);
}

/// A number rounded to one of bf16 as sinter.stochastic_round has it: element `index` of the tensor
/// that `tag` stands for.
constexpr float roundStochastically(float value, uint64_t index, std::array<uint32_t, 2> tag,
                                    std::array<uint32_t, 2> seed) {
  if (value != value)
    return value;
  uint32_t word = generate({uint32_t(index), uint32_t(index >> 32), tag[0], tag[1]}, seed)[0];
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + (word >> 16)) & 0xffff0000);
}

} // namespace sinter::philox
