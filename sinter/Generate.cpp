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
static void noteUnusedSampling(const Executable &executable, const GenerateOptions &options) {
  auto keys = executable.metadata("unused_sampling");
  if (keys && !(*keys == "repetition_penalty" && options.repetitionPenalty != 1))
    options.observer.note("generation_config.json has " + std::string(*keys) +
                          ", which changes what transformers generates; it is not looked at here");
}

static Expected<void> checkStops(const LoadedModel &model, const GenerateOptions &options) {
  if (options.stop.empty())
    return {};
  for (const std::string &text : options.stop)
    if (text.empty())
      return fail("`stop`", "it is empty", "give a text");
  SINTER_CHECK(model.openTokenizer());
  return {};
}

static Expected<std::vector<int32_t>> getPrompt(const LoadedModel &model,
                                                const GenerateOptions &options) {
  if (options.prompt)
    return model.encode(*options.prompt);
  if (options.tokens.empty())
    return fail("prompt", "there is none",
                "give `prompt` TEXT, `prompt_file` FILE or `tokens` 1,2,3");
  return options.tokens;
}

Expected<bool> sinter::goesOn(const GenerateOptions &options, const ReceiveToken &receive,
                              int32_t token, const std::string &piece) {
  bool stopped = options.observer.stop && options.observer.stop->load();
  bool goesOn = (!receive || receive(token, piece)) && !stopped;
  SINTER_CHECK(broadcast(options.communicator, goesOn));
  return goesOn;
}

void sinter::noteGreedy(const GenerateOptions &options) {
  // Of `top_p` 0 an error follows.
  bool isGiven = options.topK > 1 || (options.topP > 0 && options.topP < 1) || options.minP > 0;
  if (options.temperature == 0 && isGiven)
    options.observer.note("at `temperature` 0 the likeliest token is taken; `top_k`, `top_p` and "
                          "`min_p` are not looked at");
}

Expected<Generated> sinter::generate(const LoadedModel &model, const GenerateOptions &options,
                                     const ReceiveToken &receive) {
  SINTER_CHECK(checkOptions(options));
  SINTER_CHECK(checkStops(model, options));
  noteGreedy(options);
  const Executable &executable = *model.executable;
  GenerateRequest request;
  SINTER_TRY(request.prompt, getPrompt(model, options));
  request.maxNewTokens = options.maxNewTokens;
  request.ignoresEnd = options.ignoreEos;
  request.sampling = options.getSampling();
  // A model without a tokenizer gives ids alone.
  std::optional<StreamDecoder> decoder;
  if (!getTokenizerFiles(executable).empty()) {
    SINTER_TRY(Tokenizer tokenizer, model.openTokenizer());
    decoder.emplace(tokenizer);
  }

  BindOptions bindOptions;
  bindOptions.threads = options.threads;
  std::optional<WeightFilesSource> source;
  if (model.weights)
    bindOptions.weights = &source.emplace(*model.weights);
  bindOptions.seed = options.seed;
  bindOptions.communicator = options.communicator;
  bindOptions.onWarning = [&](const Error &warning) { options.observer.warn(warning); };
  for (const char *name : {"prefill", "decode"})
    if (!listPasses(executable, /*place=*/0, name).empty())
      bindOptions.programs.push_back(name);
  SINTER_TRY(std::unique_ptr<Session> session, Session::bind(model.executable, bindOptions));
  SINTER_TRY(Generator generator, Generator::create(*session));
  noteStretchedPositions(executable, options.observer);
  noteUnusedSampling(executable, options);
  auto positions = static_cast<int64_t>(request.prompt.size()) + options.maxNewTokens - 1;
  if (auto warning =
          checkTrainedLength(executable, std::min(positions, generator.getMaxSequence())))
    options.observer.warn(*warning);

  // The new text depends on what stands before it: a space at the very beginning is dropped.
  if (decoder)
    for (int32_t token : request.prompt)
      decoder->push(token);
  Generated generated;
  StopText stop(options.stop);
  if (decoder)
    generated.text.emplace();
  auto onToken = [&](size_t, int32_t token) -> Expected<bool> {
    std::string piece = stop.push(decoder ? decoder->push(token) : "");
    if (decoder)
      *generated.text += piece;
    SINTER_TRY(bool continues, goesOn(options, receive, token, piece));
    return continues && !stop.getFound();
  };
  SINTER_TRY(std::vector<GenerateResult> results, generator.run(std::span(&request, 1), onToken));
  if (decoder)
    *generated.text += stop.push(decoder->flush()) + stop.flush();
  generated.stop = stop.getFound();
  generated.ids = std::move(results.front().tokens);
  generated.reason = results.front().reason;
  generated.times = generator.getTimes();
  generated.peakBytes = measureHeld(session->getMemory(), !executable.isForCpu());
  generated.maxSequence = generator.getMaxSequence();
  return generated;
}
