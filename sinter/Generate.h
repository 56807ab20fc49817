//===- Generate.h - Continuing a text ---------------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Options.h"
#include "runtime/Generate/Generator.h"
#include "sinter/LoadedModel.h"
#include "sinter/Observer.h"

namespace sinter {

/// How one prompt is continued.
struct PromptOptions {
#define SINTER_OPTION SINTER_OPTION_MEMBER
#include "sinter/GenerateOptions.def"

  std::optional<std::string> prompt; ///< the text to go on from, by the executable's tokenizer
  std::vector<int32_t> tokens;       ///< or its ids
  std::vector<std::string> stop;     ///< texts that end it, and are left out; none empty
  bool ignoreEos = false;            ///< goes on behind an end-of-sequence token
  std::optional<uint64_t> seed;      ///< of sampling; else 0

  /// As a generator takes them.
  runtime::SamplingOptions getSampling() const {
    return {static_cast<float>(temperature),
            topK,
            static_cast<float>(topP),
            static_cast<float>(minP),
            {static_cast<float>(repetitionPenalty), static_cast<float>(presencePenalty),
             static_cast<float>(frequencyPenalty)},
            seed.value_or(0)};
  }

  template <typename Self, typename Visitor> static void visit(Self &self, Visitor &&visitor) {
#define SINTER_OPTION SINTER_OPTION_VISIT
#include "sinter/GenerateOptions.def"
  }
};

/// The same, and what runs it. The seed is also that of random weights, else the executable's.
struct GenerateOptions : PromptOptions {
  unsigned threads = 0; ///< 0: one a processor
  Observer observer;
  runtime::Communicator *communicator = nullptr; ///< the ranks that run it together; null: one
};

/// One of several prompts.
struct NamedPrompt : PromptOptions {
  std::string name; ///< in errors
};

/// How a prompt goes on.
struct GeneratedText {
  size_t promptTokens = 0;
  std::vector<int32_t> ids;        ///< the new tokens
  std::optional<std::string> text; ///< theirs; none without a tokenizer
  runtime::StopReason reason = runtime::StopReason::MaxNewTokens;
  std::optional<std::string> stop; ///< which of the texts that end it did
};

/// What a run took.
struct GenerationCost {
  runtime::GenerateTimes times;
  uint64_t peakBytes = 0;  ///< held at the end, as the system counts it
  int64_t maxSequence = 0; ///< positions of the KV cache
};

struct Generated : GeneratedText, GenerationCost {};

struct GeneratedTexts : GenerationCost {
  std::vector<GeneratedText> texts; ///< of the prompts, in their order
};

/// Receives a new token with the text that it completes, which may be empty; false ends it. Of
/// several ranks rank 0's decides.
using ReceiveToken = std::function<bool(int32_t token, const std::string &text)>;

/// Says that `top_k`, `top_p` and `min_p` are not looked at, where the temperature is 0 and one of
/// them is given; whether it said so.
bool noteGreedy(const PromptOptions &options, const Observer &observer);

/// Goes on from the prompt. Errors: neither or no tokens, no tokenizer where there is a text to go
/// on from or to end at, a number that is no id, a prompt longer than the KV cache, options out of
/// their ranges.
Expected<Generated> generate(const LoadedModel &model, const GenerateOptions &options,
                             const ReceiveToken &receive = {});

/// Goes on from several prompts, as many at a time as the model has slots; each has the same tokens
/// whatever others there are. Of `options` it takes what runs them all, with the seed of random
/// weights. Errors: those of generate(), with the prompt's name and before any is run; the
/// observer's `stop`.
Expected<GeneratedTexts> generateAll(const LoadedModel &model, const GenerateOptions &options,
                                     std::span<const NamedPrompt> prompts);

/// Hands a token on; whether `receive` and the observer's `stop` of rank 0 let generation go on.
Expected<bool> goesOn(const GenerateOptions &options, const ReceiveToken &receive, int32_t token,
                      const std::string &piece);

/// The warning that `positions` are more than the model was trained on, if they are and the
/// executable tells.
std::optional<Error> checkTrainedLength(const runtime::Executable &executable, int64_t positions);

} // namespace sinter
