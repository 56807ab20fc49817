//===- AttentionReference.h - Attention from its definition -----*- C++ -*-===//
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sinter::kernels {

/// One sinter.attention; see dialects/Sinter/AttentionOps.td.
struct AttentionProblem {
  int batch = 1, length = 1, heads = 1, headSize = 1, maxSequence = 1, keyHeads = 1;
  double scale = 1;
  bool causal = false;
  int window = 0;     ///< 0: none
  double softcap = 0; ///< 0: none
  std::vector<int> start, first;
  std::vector<double> slopes;
  double dropout = 0;
  uint32_t stream = 0;
  std::array<uint32_t, 2> seed = {};
  /// Of a part of an attention: heads, queries and keys of all of it, and the number there of the
  /// part's first weight.
  std::array<int, 3> whole = {};
  uint32_t firstWeight = 0;

  bool isPart() const { return whole[0] != 0; }

  std::size_t querySize() const { return std::size_t(batch) * length * heads * headSize; }
  std::size_t keySize() const { return std::size_t(batch) * maxSequence * keyHeads * headSize; }
  std::size_t rows() const { return std::size_t(batch) * length * heads; }
};

/// Dense [b, t, h, d] and [b, t, h].
struct AttentionResult {
  std::vector<double> result, logsumexp;
};

/// Of dense operands, in double precision.
AttentionResult attend(const AttentionProblem &problem, const std::vector<double> &query,
                       const std::vector<double> &key, const std::vector<double> &value);

struct AttentionGradients {
  std::vector<double> query, key, value;
};

/// Gradients of the sum of `gradient * result`.
AttentionGradients differentiate(const AttentionProblem &problem, const std::vector<double> &query,
                                 const std::vector<double> &key, const std::vector<double> &value,
                                 const std::vector<double> &gradient);

} // namespace sinter::kernels
