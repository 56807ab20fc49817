#include "runtime/Generate/Generator.h"
#include "runtime/Base/Options.h"
#include <algorithm>
#include <chrono>
#include <cmath>

namespace sinter::runtime {

// A request on its way, or none. Of its sequence (the prompt and what was generated) the model has
// seen the `cached` tokens.
struct Generator::Slot {
  const GenerateRequest *request = nullptr;
  size_t index = 0; ///< of the request
  GenerateResult result;
  std::vector<int32_t> sequence;
  size_t cached = 0;
  // What penalties do to each token's logit, and how often each new token came; empty without any.
  std::vector<float> factor, offset;
  std::vector<int32_t> times;
  size_t count = 0; ///< tokens in the current step
  bool running = false;

  size_t getWaiting() const { return running ? sequence.size() - cached : 0; }

  void beginPenalties(int64_t vocab) {
    factor.assign(static_cast<size_t>(vocab), 1);
    offset.assign(static_cast<size_t>(vocab), 0);
    times.assign(static_cast<size_t>(vocab), 0);
    for (int32_t token : sequence)
      factor[static_cast<size_t>(token)] = request->sampling.penalties.repetition;
  }

  void penalize(int32_t token) {
    if (times.empty())
      return;
    const Penalties &penalties = request->sampling.penalties;
    auto id = static_cast<size_t>(token);
    factor[id] = penalties.repetition;
    offset[id] = penalties.presence + penalties.frequency * static_cast<float>(++times[id]);
  }
};

Expected<std::optional<Generator::Step>> Generator::findStep(std::string_view name) {
  std::optional<Step> none;
  Expected<size_t> program = session->program(name);
  if (!program)
    return none;
  Step step;
  step.program = *program;
  SINTER_TRY(TensorView tokens, session->input(*program, "tokens", DType::I32));
  SINTER_TRY(TensorView start, session->input(*program, "start", DType::I32));
  SINTER_TRY(TensorView count, session->input(*program, "count", DType::I32));
  SINTER_TRY(TensorView temperature, session->input(*program, "temperature", DType::F32));
  SINTER_TRY(TensorView topK, session->input(*program, "top_k", DType::I32));
  SINTER_TRY(TensorView topP, session->input(*program, "top_p", DType::F32));
  SINTER_TRY(TensorView minP, session->input(*program, "min_p", DType::F32));
  SINTER_TRY(TensorView seed, session->input(*program, "seed", DType::I32));
  SINTER_TRY(TensorView token, session->output(*program, "token", DType::I32));
  using Shape = std::vector<int64_t>;
  bool sound = tokens.shape.size() == 2 && tokens.shape[0] > 0 && tokens.shape[1] > 0 &&
               seed.shape == Shape{tokens.shape[0], 2} &&
               (slots == 0 || slots == static_cast<size_t>(tokens.shape[0]));
  for (const TensorView *ofSlots : {&start, &count, &temperature, &topK, &topP, &minP, &token})
    sound = sound && ofSlots->shape == Shape{tokens.shape[0]};
  if (!sound)
    return fail(session->getExecutable().getName(),
                "the tensors of its program '" + std::string(name) + "' do not fit each other",
                "compile the model again");
  slots = static_cast<size_t>(tokens.shape[0]);
  step.chunk = static_cast<size_t>(tokens.shape[1]);
  step.tokens = tokens.as<int32_t>();
  step.start = start.as<int32_t>();
  step.count = count.as<int32_t>();
  step.temperature = temperature.as<float>();
  step.topK = topK.as<int32_t>();
  step.topP = topP.as<float>();
  step.minP = minP.as<float>();
  step.seed = seed.as<int32_t>();
  step.token = token.as<int32_t>();
  Expected<TensorView> factor = session->input(*program, "penalty_factor", DType::F32),
                       offset = session->input(*program, "penalty_offset", DType::F32);
  if (factor && offset) {
    if (factor->shape != Shape{tokens.shape[0], vocab} || offset->shape != factor->shape)
      return fail(session->getExecutable().getName(),
                  "the penalties of its program '" + std::string(name) +
                      "' are not of its vocabulary",
                  "compile the model again");
    step.factor = factor->as<float>();
    step.offset = offset->as<float>();
  }
  return step;
}

Expected<Generator> Generator::create(Session &session) {
  Generator generator(session);
  const Executable &executable = session.getExecutable();
  SINTER_TRY(generator.vocab, executable.metadataNumber("vocab_size"));
  SINTER_TRY(generator.maxTokens, executable.metadataNumber("max_seq"));
  SINTER_TRY(generator.endTokens, executable.metadataNumbers("eos_token_ids"));
  SINTER_TRY(generator.prefill, generator.findStep("prefill"));
  SINTER_TRY(generator.decode, generator.findStep("decode"));
  if (!generator.prefill && !generator.decode)
    return fail(executable.getName(), "it has neither a program 'prefill' nor a program 'decode'",
                "compile the model with `entry` prefill,decode");
  return generator;
}

Expected<void> Generator::check(const GenerateRequest &request) const {
  if (request.prompt.empty())
    return fail("prompt", "it has no tokens", "give a text or at least one token");
  if (request.cached >= request.prompt.size())
    return fail("prompt", "it has no tokens beyond those in the cache", "give at least one more");
  if (static_cast<int64_t>(request.prompt.size()) > maxTokens)
    return fail("prompt",
                "it has " + std::to_string(request.prompt.size()) +
                    " tokens, the model's max_sequence is " + std::to_string(maxTokens),
                "shorten it or raise `max_seq`");
  for (int32_t token : request.prompt)
    if (token < 0 || token >= vocab)
      return fail("token " + std::to_string(token),
                  "the vocabulary has the ids 0 to " + std::to_string(vocab - 1),
                  "use ids of this model's tokenizer");
  const SamplingOptions &sampling = request.sampling;
  auto refuse = [](const char *option, double value, const char *range, const char *remedy) {
    return fail(std::string(option) + " " + writeOption(value),
                std::string("is not a number ") + range, remedy);
  };
  if (!(sampling.temperature >= 0) || std::isinf(sampling.temperature))
    return refuse("`temperature`", sampling.temperature, "from 0 up", "give 0.8, for example");
  if (sampling.topK < 0)
    return refuse("`top_k`", double(sampling.topK), "from 0 up", "give 40, or 0 for all");
  if (!(sampling.topP > 0 && sampling.topP <= 1))
    return refuse("`top_p`", sampling.topP, "above 0 and up to 1", "give 0.9, or 1 for all");
  if (!(sampling.minP >= 0 && sampling.minP <= 1))
    return refuse("`min_p`", sampling.minP, "from 0 to 1", "give 0.05, or 0 for all");
  const Penalties &penalties = sampling.penalties;
  if (!(penalties.repetition > 0) || std::isinf(penalties.repetition))
    return refuse("`repetition_penalty`", penalties.repetition, "above 0",
                  "give 1.1, or 1 for none");
  if (!std::isfinite(penalties.presence))
    return refuse("`presence_penalty`", penalties.presence, "that is finite", "give 0.5");
  if (!std::isfinite(penalties.frequency))
    return refuse("`frequency_penalty`", penalties.frequency, "that is finite", "give 0.5");
  bool takesPenalties =
      (!prefill || !prefill->factor.empty()) && (!decode || !decode->factor.empty());
  if (penalties != Penalties() && !takesPenalties)
    return fail("penalties", session->getExecutable().getName() + " takes none",
                "compile the model with `penalties`");
  return {};
}

Generator::Slot Generator::begin(const GenerateRequest &request, size_t index) const {
  Slot slot;
  slot.request = &request;
  slot.index = index;
  slot.sequence = request.prompt;
  slot.cached = request.cached;
  slot.running = request.maxNewTokens > 0;
  slot.sequence.reserve(request.prompt.size() + static_cast<size_t>(std::clamp<int64_t>(
                                                    request.maxNewTokens, 0, maxTokens)));
  if (request.sampling.penalties != Penalties())
    slot.beginPenalties(vocab);
  return slot;
}

bool Generator::needsPrefill(const Slot &slot) const {
  return prefill && (!decode || slot.getWaiting() > decode->chunk);
}

// Writes a step's inputs for one slot: what waits, if it takes part, and how to draw what follows.
// Where nothing does, the step's token is not used.
void Generator::fill(const Step &step, size_t index, Slot &slot, bool takesPart) const {
  size_t count = takesPart ? std::min(slot.getWaiting(), step.chunk) : 0;
  step.start[index] = static_cast<int32_t>(slot.cached);
  step.count[index] = static_cast<int32_t>(count);
  int32_t *tokens = step.tokens.data() + index * step.chunk;
  if (count != 0)
    std::copy_n(slot.sequence.data() + slot.cached, count, tokens);
  std::fill(tokens + count, tokens + step.chunk, 0);
  bool draws = count != 0 && count == slot.getWaiting();
  SamplingOptions sampling = draws ? slot.request->sampling : SamplingOptions();
  step.temperature[index] = sampling.temperature;
  step.topK[index] = static_cast<int32_t>(std::min<int64_t>({sampling.topK, vocab, INT32_MAX}));
  step.topP[index] = sampling.topP;
  step.minP[index] = sampling.minP;
  step.seed[2 * index] = static_cast<int32_t>(sampling.seed);
  step.seed[2 * index + 1] = static_cast<int32_t>(sampling.seed >> 32);
  if (!step.factor.empty()) {
    auto width = static_cast<size_t>(vocab);
    std::span<float> factor = step.factor.subspan(index * width, width),
                     offset = step.offset.subspan(index * width, width);
    if (draws && !slot.times.empty()) {
      std::copy(slot.factor.begin(), slot.factor.end(), factor.begin());
      std::copy(slot.offset.begin(), slot.offset.end(), offset.begin());
    } else {
      std::fill(factor.begin(), factor.end(), 1.0f);
      std::fill(offset.begin(), offset.end(), 0.0f);
    }
  }
  slot.count = count;
}

// Takes the token that follows a slot's sequence; false where the slot stops.
Expected<bool> Generator::accept(Slot &slot, int32_t token, const Callback &callback) const {
  slot.sequence.push_back(token);
  slot.penalize(token);
  slot.result.tokens.push_back(token);
  auto stop = [&](StopReason reason) {
    slot.result.reason = reason;
    return false;
  };
  if (callback) {
    SINTER_TRY(bool goesOn, callback(slot.index, token));
    if (!goesOn)
      return stop(StopReason::Caller);
  }
  if (!slot.request->ignoresEnd &&
      std::find(endTokens.begin(), endTokens.end(), token) != endTokens.end())
    return stop(StopReason::EndOfSequence);
  if (static_cast<int64_t>(slot.result.tokens.size()) >= slot.request->maxNewTokens)
    return stop(StopReason::MaxNewTokens);
  if (static_cast<int64_t>(slot.sequence.size()) > maxTokens)
    return stop(StopReason::MaxSequence);
  return true;
}

// One step of the slots that wait for the same program, those with a prompt first: feeds what
// waits, and takes a token where nothing waits any more.
Expected<void> Generator::advance(std::span<Slot> active, const Callback &callback) {
  bool prefills = std::ranges::any_of(
      active, [&](const Slot &slot) { return slot.running && needsPrefill(slot); });
  const Step &step = prefills ? *prefill : *decode;
  auto begin = std::chrono::steady_clock::now();
  bool readsPrompt = std::ranges::any_of(
      active, [](const Slot &slot) { return slot.running && slot.result.tokens.empty(); });
  for (size_t i = 0; i < active.size(); ++i)
    fill(step, i, active[i], needsPrefill(active[i]) == prefills);
  SINTER_CHECK(session->run(step.program));
  for (size_t i = 0; i < active.size(); ++i) {
    Slot &slot = active[i];
    slot.cached += slot.count;
    if (slot.count == 0 || slot.getWaiting() != 0)
      continue;
    if (step.token[i] < 0)
      return tl::unexpected(diagnose(step, slot));
    SINTER_TRY(slot.running, accept(slot, step.token[i], callback));
  }
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  (readsPrompt ? lastTimes.prefillSeconds : lastTimes.decodeSeconds) += taken.count();
  return {};
}

// Does the last step again, which writes the same into the caches, with every number looked at.
Error Generator::diagnose(const Step &step, const Slot &slot) {
  Error error;
  error.what = "token " + std::to_string(slot.sequence.size());
  error.why = "its logits are not finite";
  if (auto found = session->runToNonFinite(step.program).value_or(std::nullopt)) {
    error.why += ": " + found->value + " first shows in " + found->label;
    if (!found->layer.empty())
      error.why += " of " + found->layer;
  }
  error.remedy = "compute in a type of a larger range (`dtype` f32), or take other weights";
  return error;
}

Expected<std::vector<GenerateResult>> Generator::run(std::span<const GenerateRequest> requests,
                                                     const Callback &callback) {
  lastTimes = {};
  for (size_t i = 0; i < requests.size(); ++i) {
    SINTER_CHECK(check(requests[i]));
    if (i >= slots && requests[i].cached != 0)
      return fail("request " + std::to_string(i),
                  "no slot has tokens of it in its cache: there are " + std::to_string(slots),
                  "compile the model with a larger `batch`");
    lastTimes.promptTokens += requests[i].prompt.size() - requests[i].cached;
  }

  std::vector<GenerateResult> results(requests.size());
  std::vector<Slot> active(slots);
  for (size_t next = 0;;) {
    auto isFree = [](const Slot &slot) { return !slot.running; };
    auto unused = static_cast<size_t>(std::ranges::count_if(active, isFree));
    if (unused == slots && next == requests.size())
      break;
    for (Slot &slot : active)
      if (isFree(slot) && 2 * unused >= slots && next < requests.size()) {
        slot = begin(requests[next], next);
        ++next;
      }
    if (std::ranges::all_of(active, isFree))
      continue;
    SINTER_CHECK(advance(active, callback));
    for (Slot &slot : active)
      if (slot.request && isFree(slot)) {
        lastTimes.newTokens += slot.result.tokens.size();
        results[slot.index] = std::move(slot.result);
        slot = {};
      }
  }
  return results;
}

} // namespace sinter::runtime
