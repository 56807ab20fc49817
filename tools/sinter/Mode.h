//===- Mode.h - What a command looks at: prefill, decode, ... ---*- C++ -*-===//
#pragma once

#include "tools/sinter/Checks.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <string>

namespace sinter::cli {

/// --mode and the sizes that go with it.
struct ModeOptions {
  std::string mode = "decode"; ///< prefill, decode, logits or train
  int64_t sequence = 512;      ///< --seq: tokens of a prefill, or of a row of a training step
  int64_t context = 512;       ///< --context: positions in the cache before a decode step

  /// Tokens of a slot that one step takes.
  int64_t getChunk() const { return mode == "decode" ? 1 : sequence; }
  /// Positions of the KV cache: `asked`, or as many as the mode needs.
  int64_t getCapacity(int64_t asked) const {
    return asked ? asked : mode == "decode" ? context + 1 : sequence;
  }
  /// Shortens lengths that were not asked for to what there is.
  void limitDefaults(int64_t positions) {
    if (!*sequenceOption)
      sequence = std::min(sequence, positions);
    if (!*contextOption)
      context = std::min(context, positions - 1);
  }

  CLI::Option *sequenceOption = nullptr, *contextOption = nullptr;
};

inline void addModeOptions(CLI::App &command, ModeOptions &options) {
  command.add_option("--mode", options.mode, "prefill, decode, logits or train")
      ->check(CLI::IsMember({"prefill", "decode", "logits", "train"}));
  options.sequenceOption =
      command.add_option("--seq", options.sequence, "tokens of a prefill or of a training row")
          ->check(wholeNumber(1, 1 << 24));
  options.contextOption =
      command.add_option("--context", options.context, "positions before a decode step")
          ->check(wholeNumber(1, 1 << 24));
}

} // namespace sinter::cli
