#include "sinter/Generate.h"
#include "runtime/Collective/Agreement.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Memory/ProcessMemory.h"
#include "runtime/Session/Session.h"
#include "sinter/StopText.h"

using namespace sinter;
using namespace sinter::runtime;

std::optional<Error> sinter::checkTrainedLength(const Executable &executable, int64_t positions) {
  // Where frequencies follow the length, what is said of that is enough (noteStretchedPositions).
  Expected<int64_t> trained = executable.metadataNumber("max_positions");
  if (!trained || positions <= *trained || executable.metadata("rotary_length"))
    return std::nullopt;
  return Error{std::to_string(positions) + " positions are more than the " +
                   std::to_string(*trained) + " that the model was made for",
               "", "what it writes beyond these may make no sense"};
}

/// Says where a model's text will not be transformers' from the trained length on.
static void noteStretchedPositions(const Executable &executable, const Observer &observer) {
  auto length = executable.metadata("rotary_length"),
       trained = executable.metadata("trained_length");
  if (length && trained)
    observer.note("rotary frequencies are those of " + std::string(*length) +
                  " tokens from the first token on, the model was trained on " +
                  std::string(*trained) +
                  "; transformers changes them as a text grows beyond that, and may continue it "
                  "otherwise");
}

/// Says what of generation_config.json would change the text and does not.
static void noteUnusedSampling(const Executable &executable, const PromptOptions &options,
                               const Observer &observer) {
  auto keys = executable.metadata("unused_sampling");
  if (keys && !(*keys == "repetition_penalty" && options.repetitionPenalty != 1))
    observer.note("generation_config.json has " + std::string(*keys) +
                  ", which changes what transformers generates; it is not looked at here");
}

Expected<bool> sinter::goesOn(const GenerateOptions &options, const ReceiveToken &receive,
                              int32_t token, const std::string &piece) {
  bool stopped = options.observer.stop && options.observer.stop->load();
  bool goesOn = (!receive || receive(token, piece)) && !stopped;
  SINTER_CHECK(broadcast(options.communicator, goesOn));
  return goesOn;
}

bool sinter::noteGreedy(const PromptOptions &options, const Observer &observer) {
  // Of `top_p` 0 an error follows.
  bool isGiven = options.topK > 1 || (options.topP > 0 && options.topP < 1) || options.minP > 0;
  if (options.temperature != 0 || !isGiven)
    return false;
  observer.note("at `temperature` 0 the likeliest token is taken; `top_k`, `top_p` and `min_p` are "
                "not looked at");
  return true;
}

namespace {
/// A model that is bound to go on from prompts.
class TextGenerator {
public:
  /// Called with each new token of a prompt and the text that it completes; false ends it.
  using Receive = std::function<Expected<bool>(size_t prompt, int32_t token, const std::string &)>;

  static Expected<std::unique_ptr<TextGenerator>> create(const LoadedModel &model,
                                                         const GenerateOptions &options) {
    std::unique_ptr<TextGenerator> created(new TextGenerator(model, options));
    // A model without a tokenizer gives ids alone.
    if (!getTokenizerFiles(*model.executable).empty()) {
      SINTER_TRY(created->tokenizer, model.openTokenizer());
    }
    return created;
  }

  /// Adds a prompt to those of the run.
  Expected<void> add(const PromptOptions &prompt) {
    SINTER_CHECK(checkOptions(prompt));
    for (const std::string &text : prompt.stop)
      if (text.empty())
        return fail("`stop`", "it is empty", "give a text");
    if (!tokenizer && (prompt.prompt || !prompt.stop.empty()))
      return tl::unexpected(model.openTokenizer().error());
    GenerateRequest request;
    request.prompt = prompt.tokens;
    if (prompt.prompt) {
      SINTER_TRY(request.prompt, tokenizer->encode(*prompt.prompt));
    } else if (prompt.tokens.empty()) {
      return fail("prompt", "there is none",
                  "give `prompt` TEXT, `prompt_file` FILE or `tokens` 1,2,3");
    }
    request.maxNewTokens = prompt.maxNewTokens;
    request.ignoresEnd = prompt.ignoreEos;
    request.sampling = prompt.getSampling();
    requests.push_back(std::move(request));
    stops.emplace_back(prompt.stop);
    return {};
  }

  /// Binds the model; then requests can be checked.
  Expected<void> bind() {
    BindOptions bindOptions;
    bindOptions.threads = options.threads;
    if (model.weights)
      bindOptions.weights = &source.emplace(*model.weights);
    bindOptions.seed = options.seed;
    bindOptions.communicator = options.communicator;
    bindOptions.onWarning = [&](const Error &warning) { options.observer.warn(warning); };
    for (const char *name : {"prefill", "decode"})
      if (!listPasses(*model.executable, /*place=*/0, name).empty())
        bindOptions.programs.push_back(name);
    SINTER_TRY(session, Session::bind(model.executable, bindOptions));
    SINTER_TRY(generator, Generator::create(*session));
    noteStretchedPositions(*model.executable, options.observer);
    return {};
  }

  /// Fails where the model cannot run a prompt. @pre bind() has succeeded
  Expected<void> check(size_t prompt) const { return generator->check(requests[prompt]); }

  /// Goes on from all prompts. @pre bind() has succeeded
  Expected<GeneratedTexts> run(const Receive &receive) {
    int64_t positions = 0;
    for (const GenerateRequest &request : requests) // the last token is not fed back
      positions = std::max(positions,
                           static_cast<int64_t>(request.prompt.size()) + request.maxNewTokens - 1);
    positions = std::min(positions, generator->getMaxSequence());
    if (auto warning = checkTrainedLength(*model.executable, positions))
      options.observer.warn(*warning);
    GeneratedTexts result;
    std::vector<std::optional<StreamDecoder>> decoders(requests.size());
    result.texts.resize(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      result.texts[i].promptTokens = requests[i].prompt.size();
      if (!tokenizer)
        continue;
      // The new text depends on what stands before it: a space at the very beginning is dropped.
      decoders[i].emplace(*tokenizer);
      for (int32_t token : requests[i].prompt)
        decoders[i]->push(token);
      result.texts[i].text.emplace();
    }
    auto onToken = [&](size_t i, int32_t token) -> Expected<bool> {
      std::string piece = stops[i].push(decoders[i] ? decoders[i]->push(token) : "");
      if (decoders[i])
        *result.texts[i].text += piece;
      SINTER_TRY(bool continues, receive(i, token, piece));
      return continues && !stops[i].getFound();
    };
    SINTER_TRY(std::vector<GenerateResult> results, generator->run(requests, onToken));
    for (size_t i = 0; i < requests.size(); ++i) {
      GeneratedText &text = result.texts[i];
      if (decoders[i])
        *text.text += stops[i].push(decoders[i]->flush()) + stops[i].flush();
      text.stop = stops[i].getFound();
      text.ids = std::move(results[i].tokens);
      text.reason = results[i].reason;
    }
    result.times = generator->getTimes();
    result.peakBytes = measureHeld(session->getMemory(), !model.executable->isForCpu());
    result.maxSequence = generator->getMaxSequence();
    return result;
  }

private:
  TextGenerator(const LoadedModel &model, const GenerateOptions &options)
      : model(model), options(options) {}

  const LoadedModel &model;
  const GenerateOptions &options;
  std::optional<Tokenizer> tokenizer;
  std::optional<WeightFilesSource> source;
  std::unique_ptr<Session> session;
  std::optional<Generator> generator;
  std::vector<GenerateRequest> requests;
  std::vector<StopText> stops; // of the requests
};
} // namespace

Expected<Generated> sinter::generate(const LoadedModel &model, const GenerateOptions &options,
                                     const ReceiveToken &receive) {
  SINTER_CHECK(checkOptions(options));
  noteGreedy(options, options.observer);
  SINTER_TRY(std::unique_ptr<TextGenerator> generator, TextGenerator::create(model, options));
  SINTER_CHECK(generator->add(options));
  SINTER_CHECK(generator->bind());
  noteUnusedSampling(*model.executable, options, options.observer);
  SINTER_TRY(GeneratedTexts texts,
             generator->run([&](size_t, int32_t token, const std::string &piece) {
               return goesOn(options, receive, token, piece);
             }));
  return Generated{std::move(texts.texts.front()), std::move(texts)};
}

Expected<GeneratedTexts> sinter::generateAll(const LoadedModel &model,
                                             const GenerateOptions &options,
                                             std::span<const NamedPrompt> prompts) {
  SINTER_TRY(std::unique_ptr<TextGenerator> generator, TextGenerator::create(model, options));
  auto named = [](const NamedPrompt &prompt, Expected<void> result) {
    if (!result)
      result.error().what = prompt.name + ": " + result.error().what;
    return result;
  };
  for (const NamedPrompt &prompt : prompts)
    SINTER_CHECK(named(prompt, generator->add(prompt)));
  SINTER_CHECK(generator->bind());
  for (size_t i = 0; i < prompts.size(); ++i)
    SINTER_CHECK(named(prompts[i], generator->check(i)));
  std::ranges::find_if(
      prompts, [&](const NamedPrompt &prompt) { return noteGreedy(prompt, options.observer); });
  noteUnusedSampling(*model.executable, options, options.observer);
  uint64_t most = 0, done = 0;
  for (const NamedPrompt &prompt : prompts)
    most += static_cast<uint64_t>(prompt.maxNewTokens);
  Progress progress(options.observer, "generating", most);
  return generator->run([&](size_t, int32_t token, const std::string &piece) -> Expected<bool> {
    SINTER_TRY(bool continues, goesOn(options, {}, token, piece));
    if (!continues)
      return fail("generation", "was stopped", "");
    progress.advance(++done);
    return true;
  });
}
