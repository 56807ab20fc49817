//===- Generator.h - From prompts to tokens ---------------------*- C++ -*-===//
//
// Drives the step programs of a language model: `prefill` over the prompts in chunks, then `decode`
// token by token; both draw the token that follows. Each request has a slot of its own, which the
// next one gets when it has ended; a step takes, for every slot, `count` tokens after the `start`
// that its cache holds already, so slots of different lengths run side by side and one that has
// nothing to do takes part with a count of zero.
//
// Which programs see a request's tokens, and in which chunks, depends on the request alone: slots
// that decode wait while others prefill. So its tokens are the same to the bit beside any others.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include "runtime/Session/Session.h"
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace sinter::runtime {

/// What the logits of tokens lose that were there before.
struct Penalties {
  float repetition = 1; ///< of tokens so far: divides positive logits, multiplies negative ones
  float presence = 0;   ///< of new tokens so far: is subtracted from their logits
  float frequency = 0;  ///< the same, for each time that they came

  bool operator==(const Penalties &) const = default;
};

/// How tokens are drawn; dialects/Sinter/RandomOps.td has the rule. The draw at a position is a
/// function of these and of the logits.
struct SamplingOptions {
  float temperature = 0; ///< 0: greedy, the largest logit
  int64_t topK = 0;      ///< of the k largest; 0: of all
  float topP = 1;        ///< of the likeliest that have this probability together; 1: of all
  float minP = 0;        ///< of those that are so many times as likely as the likeliest; 0: of all
  Penalties penalties = {};
  uint64_t seed = 0;
};

struct GenerateRequest {
  std::vector<int32_t> prompt;
  int64_t maxNewTokens = 0;
  SamplingOptions sampling = {};
  /// The first tokens of the prompt that the slot's cache holds from the run before: of its prompt
  /// and of what it made, all but the last token. Request i of a run has slot i, if there is one:
  /// of those beyond the slots nothing is cached.
  size_t cached = 0;
  bool ignoresEnd = false; ///< an end-of-sequence token does not stop it
};

/// Why a slot stopped.
enum class StopReason { EndOfSequence, MaxNewTokens, MaxSequence, Caller };

struct GenerateResult {
  /// The new tokens; an end-of-sequence token is the last of them.
  std::vector<int32_t> tokens;
  StopReason reason = StopReason::MaxNewTokens;
};

/// What a run took.
struct GenerateTimes {
  uint64_t promptTokens = 0, newTokens = 0;
  double prefillSeconds = 0; ///< of the steps that took a part of a prompt
  double decodeSeconds = 0;  ///< of the others
};

class Generator {
public:
  /// Called with each new token of a request as it is chosen, those of several in turn; false stops
  /// that request, an error the run. Of several ranks all return the same.
  using Callback = std::function<Expected<bool>(size_t request, int32_t token)>;

  /// Looks up the programs "prefill" and "decode" (one of them is enough) and their tensors, and
  /// the metadata keys vocab_size, max_seq and eos_token_ids. The session outlives the generator.
  static Expected<Generator> create(Session &session);

  /// Generates for as many requests at once as there are slots. Prefill computes the rows of all
  /// slots, so where there are more requests the next ones begin once half of the slots are free.
  /// Errors: those of check() before any is run; logits that are not finite, with the op and the
  /// layer where that first shows.
  Expected<std::vector<GenerateResult>> run(std::span<const GenerateRequest> requests,
                                            const Callback &callback = {});

  /// Fails where a request cannot be run: an empty prompt, or one that is cached as a whole, one
  /// that leaves no room for a token, a token id out of range, sampling options that mean nothing,
  /// penalties that the programs do not take.
  Expected<void> check(const GenerateRequest &request) const;

  /// The limits of the executable.
  size_t getBatch() const { return slots; }
  int64_t getVocabulary() const { return vocab; }
  int64_t getMaxSequence() const { return maxTokens; }

  /// Of the last run.
  const GenerateTimes &getTimes() const { return lastTimes; }

private:
  // A step program with its inputs and output.
  struct Step {
    size_t program = 0;
    size_t chunk = 0; ///< tokens of a slot that it takes at most
    std::span<int32_t> tokens, start, count, topK, seed;
    std::span<float> temperature, topP, minP;
    std::span<float> factor, offset; ///< of penalties, [slots, vocab]; empty: it takes none
    std::span<const int32_t> token;
  };
  struct Slot;

  explicit Generator(Session &session) : session(&session) {}
  Expected<std::optional<Step>> findStep(std::string_view name);
  Slot begin(const GenerateRequest &request, size_t index) const;
  bool needsPrefill(const Slot &slot) const;
  Expected<void> advance(std::span<Slot> active, const Callback &callback);
  void fill(const Step &step, size_t index, Slot &slot, bool takesPart) const;
  Error diagnose(const Step &step, const Slot &slot);
  Expected<bool> accept(Slot &slot, int32_t token, const Callback &callback) const;

  Session *session;
  std::optional<Step> prefill, decode;
  size_t slots = 0;
  int64_t vocab = 0, maxTokens = 0;
  std::vector<int64_t> endTokens;
  GenerateTimes lastTimes;
};

} // namespace sinter::runtime
