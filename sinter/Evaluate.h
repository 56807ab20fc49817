//===- Evaluate.h - How well a model predicts a text ------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Options.h"
#include "runtime/Data/TokenStream.h"
#include "sinter/Model.h"
#include "sinter/RunOptions.h"

namespace sinter {

/// `batch` of the RunOptions are the windows that are computed at a time.
struct EvaluateOptions : RunOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "sinter/EvaluateOptions.def"

  /// The options themselves, without those of RunOptions.
  template <typename Self, typename Visitor> static void visitOwn(Self &self, Visitor &&visitor) {
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "sinter/EvaluateOptions.def"
  }
  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
    RunOptions::visit(self, visitor);
    visitOwn(self, visitor);
  }
};

struct Evaluation {
  double loss = 0;       ///< mean cross-entropy of a target, in nats
  double perplexity = 0; ///< exp(loss)
  /// The cross-entropy of all targets in bits, over the bytes of their text; none where token ids
  /// have no text.
  std::optional<double> bitsPerByte;
  double accuracy = 0; ///< part of the targets that are the likeliest token
  uint64_t tokens = 0; ///< targets: one less than the data have tokens
};

/// Evaluates a model on data, in windows of `sequence` + 1 tokens of which the last is the first of
/// the next, so that every token but the first is a target once; the last window may be shorter.
/// An executable must have been compiled with the entry `logits`. Fails where the data cannot be
/// read, hold fewer than two tokens or an id that the model does not know, or a window is longer
/// than the KV cache.
Expected<Evaluation> evaluate(const Model &model, const EvaluateOptions &options);

/// The same on tokens that are open, of the files that the options name.
Expected<Evaluation> evaluateTokens(const Model &model, const EvaluateOptions &options,
                                    const runtime::TokenStream &tokens);

} // namespace sinter
