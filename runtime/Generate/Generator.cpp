#include "runtime/Generate/Generator.h"
#include <algorithm>
#include <chrono>

namespace sinter::runtime {

// A request on its way. `known` tokens of the sequence are those whose value is decided (the prompt
// and what was generated), `cached` those that the model has seen.
struct Generator::Slot {
  const GenerateRequest *request = nullptr;
  GenerateResult result;
  Sampler sampler;
  std::vector<int32_t> sequence;
  size_t cached = 0;
  size_t count = 0; ///< tokens in the current step
  bool running = true;

  size_t waiting() const { return running ? sequence.size() - cached : 0; }
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
  SINTER_TRY(TensorView logits, session->output(*program, "logits", DType::F32));
  using Shape = std::vector<int64_t>;
  bool sound = tokens.shape.size() == 2 && tokens.shape[0] > 0 && tokens.shape[1] > 0 &&
               start.shape == Shape{tokens.shape[0]} && count.shape == start.shape &&
               logits.shape == Shape{tokens.shape[0], vocab} &&
               (slots == 0 || slots == static_cast<size_t>(tokens.shape[0]));
  if (!sound)
    return fail(session->executable().name(),
                "the tensors of its program '" + std::string(name) + "' do not fit each other",
                "compile the model again");
  slots = static_cast<size_t>(tokens.shape[0]);
  step.chunk = static_cast<size_t>(tokens.shape[1]);
  step.tokens = tokens.as<int32_t>();
  step.start = start.as<int32_t>();
  step.count = count.as<int32_t>();
  step.logits = logits.as<float>();
  return step;
}

Expected<Generator> Generator::create(Session &session) {
  Generator generator(session);
  const Executable &executable = session.executable();
  SINTER_TRY(generator.vocab, executable.metadataNumber("vocab_size"));
  SINTER_TRY(generator.maxTokens, executable.metadataNumber("max_seq"));
  SINTER_TRY(generator.endTokens, executable.metadataNumbers("eos_token_ids"));
  SINTER_TRY(generator.prefill, generator.findStep("prefill"));
  SINTER_TRY(generator.decode, generator.findStep("decode"));
  if (!generator.prefill && !generator.decode)
    return fail(executable.name(), "it has neither a program 'prefill' nor a program 'decode'",
                "compile the model with --entry prefill,decode");
  return generator;
}

Expected<void> Generator::check(const GenerateRequest &request) const {
  if (request.prompt.empty())
    return fail("prompt", "it has no tokens", "give a text or at least one token");
  if (static_cast<int64_t>(request.prompt.size()) > maxTokens)
    return fail("prompt",
                "it has " + std::to_string(request.prompt.size()) +
                    " tokens, the model's capacity is " + std::to_string(maxTokens),
                "shorten it or raise --max-seq");
  for (int32_t token : request.prompt)
    if (token < 0 || token >= vocab)
      return fail("token " + std::to_string(token),
                  "the vocabulary has the ids 0 to " + std::to_string(vocab - 1),
                  "use ids of this model's tokenizer");
  return {};
}

const Generator::Step &Generator::chooseStep(std::span<const Slot> active) const {
  size_t most = 0;
  for (const Slot &slot : active)
    most = std::max(most, slot.waiting());
  if (!decode || (prefill && most > decode->chunk))
    return *prefill;
  return *decode;
}

// Takes the token that follows a slot's sequence; false where the slot stops.
bool Generator::accept(Slot &slot, size_t index, const float *logits,
                       const Callback &callback) const {
  int32_t token = slot.sampler.choose({logits, static_cast<size_t>(vocab)});
  slot.sequence.push_back(token);
  slot.result.tokens.push_back(token);
  auto stop = [&](StopReason reason) {
    slot.result.reason = reason;
    return false;
  };
  if (callback && !callback(index, token))
    return stop(StopReason::Caller);
  if (std::find(endTokens.begin(), endTokens.end(), token) != endTokens.end())
    return stop(StopReason::EndOfSequence);
  if (static_cast<int64_t>(slot.result.tokens.size()) >= slot.request->maxNewTokens)
    return stop(StopReason::MaxNewTokens);
  if (static_cast<int64_t>(slot.sequence.size()) > maxTokens)
    return stop(StopReason::Capacity);
  return true;
}

// One step of all slots: feeds what waits, and chooses a token where nothing waits any more.
Expected<void> Generator::advance(std::span<Slot> active, const Callback &callback) {
  const Step &step = chooseStep(active);
  for (size_t i = 0; i < slots; ++i) {
    bool used = i < active.size();
    size_t count = used ? std::min(active[i].waiting(), step.chunk) : 0;
    step.start[i] = used ? static_cast<int32_t>(active[i].cached) : 0;
    step.count[i] = static_cast<int32_t>(count);
    int32_t *tokens = step.tokens.data() + i * step.chunk;
    if (count != 0)
      std::copy_n(active[i].sequence.data() + active[i].cached, count, tokens);
    std::fill(tokens + count, tokens + step.chunk, 0);
    if (used)
      active[i].count = count;
  }
  SINTER_CHECK(session->run(step.program));
  for (size_t i = 0; i < active.size(); ++i) {
    Slot &slot = active[i];
    slot.cached += slot.count;
    if (slot.count != 0 && slot.waiting() == 0)
      slot.running = accept(slot, i, step.logits.data() + i * static_cast<size_t>(vocab), callback);
  }
  return {};
}

Expected<std::vector<GenerateResult>> Generator::run(std::span<const GenerateRequest> requests,
                                                     const Callback &callback) {
  if (requests.size() > slots)
    return fail("batch",
                std::to_string(requests.size()) + " prompts for " + std::to_string(slots) +
                    " slots",
                "compile the model with a larger --batch");
  lastTimes = {};
  std::vector<Slot> active;
  for (const GenerateRequest &request : requests) {
    SINTER_CHECK(check(request));
    Slot slot{&request, {}, Sampler(request.sampler, static_cast<size_t>(vocab)), request.prompt};
    slot.running = request.maxNewTokens > 0;
    slot.sequence.reserve(request.prompt.size() + static_cast<size_t>(std::clamp<int64_t>(
                                                      request.maxNewTokens, 0, maxTokens)));
    lastTimes.promptTokens += request.prompt.size();
    active.push_back(std::move(slot));
  }

  auto begin = std::chrono::steady_clock::now(), firstTokens = begin;
  auto running = [&] {
    return std::any_of(active.begin(), active.end(), [](const Slot &slot) { return slot.running; });
  };
  auto inPrompt = [&] {
    return std::any_of(active.begin(), active.end(),
                       [](const Slot &slot) { return slot.running && slot.result.tokens.empty(); });
  };
  bool prompting = true;
  while (running()) {
    SINTER_CHECK(advance(active, callback));
    if (prompting && !inPrompt()) {
      prompting = false;
      firstTokens = std::chrono::steady_clock::now();
    }
  }
  auto end = std::chrono::steady_clock::now();
  lastTimes.prefillSeconds = std::chrono::duration<double>(firstTokens - begin).count();
  lastTimes.decodeSeconds = std::chrono::duration<double>(end - firstTokens).count();

  std::vector<GenerateResult> results;
  for (Slot &slot : active) {
    lastTimes.newTokens += slot.result.tokens.size();
    results.push_back(std::move(slot.result));
  }
  return results;
}

} // namespace sinter::runtime
