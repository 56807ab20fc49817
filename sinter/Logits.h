//===- Logits.h - The logits at every position ------------------*- C++ -*-===//
#pragma once

#include "sinter/Runner.h"

namespace sinter {

struct Logits {
  std::vector<float> values; ///< [rows, vocabulary]
  int64_t rows = 0, vocabulary = 0;
};

/// The logits behind each of `ids`, taken at most `chunk` tokens at a time. Fails where there are
/// no ids, more than the KV cache holds, or one that the vocabulary lacks; an executable must have
/// been compiled with the entry `logits`.
Expected<Logits> computeLogits(const Model &model, RunOptions options,
                               const std::vector<int32_t> &ids, int64_t chunk = 512);

} // namespace sinter
