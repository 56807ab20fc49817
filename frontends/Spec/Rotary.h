//===- Rotary.h - Frequencies of rotary positions ---------------*- C++ -*-===//
//
// Rotary embedding turns pair i of a head's components by position * inverse[i]. How the inverse
// frequencies come about is the `rope_type` of a model; the graph only sees the frequencies.
//
// Two types depend on how long the sequence is: `dynamic` stretches the base once the sequence
// passes the positions that the model was trained on, `longrope` has one set of factors for
// sequences within them and one beyond. A KV cache holds keys that are already rotated, so a
// sequence must keep one set from its first token to its last. Sinter therefore chooses by the
// length that a graph is made for, not by the tokens seen so far: a whole-sequence pass, chunks,
// and single steps agree, and equal a whole-sequence pass of transformers over `length` tokens.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sinter {

enum class RopeType { Default, Linear, Dynamic, Llama3, Yarn, LongRope, Proportional };

/// The parameters of rotary positions, named as in Hugging Face's `rope_parameters`.
struct RotarySpec {
  RopeType type = RopeType::Default;
  double theta = 10000;
  int64_t dim = 0; ///< head_dim * partial_rotary_factor, rounded down; the frequencies' divisor
  bool interleaved = false; ///< pairs are (2i, 2i + 1) instead of (i, i + width() / 2)
  bool reversed = false;    ///< pairs are turned by the negated angle
  std::optional<double> factor;
  int64_t maxPositions = 0;                     ///< max_position_embeddings
  int64_t originalMaxPositions = 0;             ///< original_max_position_embeddings
  double lowFreqFactor = 1, highFreqFactor = 4; ///< llama3
  double betaFast = 32, betaSlow = 1;           ///< yarn
  double mscale = 0, mscaleAllDim = 0;          ///< yarn; 0: absent
  bool truncate = true;                         ///< yarn
  std::optional<double> attentionFactor;        ///< yarn, longrope
  std::vector<double> shortFactor, longFactor;  ///< longrope, dim / 2 each
  double turnedShare = 1; ///< proportional: of the pairs, from the first one on; others stay
  /// Queries are scaled by 1 + queryGrowth * log(1 + floor((position + growthOffset) /
  /// growthLength)), which is 1 in the positions that the model was trained on (Llama 4's
  /// temperature; Nakanishi, "Scalable-Softmax", 2025, has the logarithm).
  double queryGrowth = 0;
  int64_t growthLength = 1, growthOffset = 0;
  bool turns = true; ///< false: queries are scaled, and nothing is turned

  /// The components of a head that are rotated: dim, rounded up to an even number.
  int64_t getWidth() const { return (dim + 1) / 2 * 2; }

  /// True where rotaryFrequencies() depends on its length.
  bool dependsOnLength() const { return type == RopeType::Dynamic || type == RopeType::LongRope; }

  /// What a query at a position is scaled by.
  double getQueryScale(int64_t position) const;

  /// The length up to which they are the same, where they depend on it.
  int64_t getUnstretchedLength() const {
    return type == RopeType::LongRope ? originalMaxPositions : maxPositions;
  }
};

struct RotaryFrequencies {
  std::vector<float> inverse; ///< width() / 2 of them
  float attentionScaling = 1; ///< both cosine and sine are multiplied by it
};

/// The frequencies for sequences of up to `length` tokens, computed as transformers'
/// modeling_rope_utils does: intermediate results are f32 where its are, so that
/// f32(position * inverse[i]) agrees at large positions too.
RotaryFrequencies rotaryFrequencies(const RotarySpec &spec, int64_t length);

} // namespace sinter
