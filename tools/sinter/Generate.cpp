#include "tools/sinter/Generate.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Exec/Session.h"
#include "runtime/Generate/Generator.h"
#include "runtime/Memory/ProcessMemory.h"
#include "tools/sinter/Checks.h"
#include "tools/sinter/Ids.h"
#include "tools/sinter/Output.h"
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>

using namespace sinter;
using namespace sinter::cli;
using namespace sinter::runtime;

Tokenizer::Files cli::getTokenizerFiles(const Executable &executable) {
  Tokenizer::Files files;
  for (const char *name : {"tokenizer.json", "vocab.json", "merges.txt"})
    if (auto content = executable.attachment(name))
      files[name].assign(reinterpret_cast<const char *>(content->data()), content->size());
  return files;
}

Expected<Tokenizer> cli::openTokenizer(const Executable &executable) {
  Tokenizer::Files files = getTokenizerFiles(executable);
  if (files.empty())
    return fail(executable.name(), "it has no tokenizer", "use --tokens and --ids");
  return Tokenizer::fromFiles(files, executable.name());
}

Expected<void> cli::flushOutput() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return {};
  return fail("standard output", "cannot be written", "make room for it");
}

void cli::addGenerateOptions(CLI::App &command, GenerateOptions &options) {
  CLI::Option *prompt = command.add_option("--prompt", options.prompt,
                                           "text to go on from; - for the standard input");
  CLI::Option *file =
      command.add_option("--prompt-file", options.promptFile, "file with the text to go on from")
          ->excludes(prompt);
  for (CLI::Option *option : {prompt, file})
    option->each([&options](const std::string &) { options.hasPrompt = true; });
  command.add_option("--tokens", options.tokens, "token ids to go on from: 1,2,3")
      ->excludes(prompt)
      ->excludes(file);
  command
      .add_option("--max-new-tokens", options.maxNewTokens, "stop after this many (default 128)")
      ->check(wholeNumber(0, 1 << 24));
  command
      .add_option("--temperature", options.temperature, "0 (default): always the likeliest token")
      ->check(isNumber)
      ->check(CLI::Range(0.0, 1e6));
  command.add_option("--top-k", options.topK, "choose among the K likeliest; 0 (default): all")
      ->check(wholeNumber(0, int64_t(1) << 31));
  command
      .add_option("--top-p", options.topP,
                  "choose among the likeliest that reach P together (default 1)")
      ->check(isNumber)
      ->check(CLI::Range(0.0, 1.0));
  command.add_flag("--ids", options.ids, "print the new token ids on one line instead of text");
}

Expected<void> cli::readPrompt(GenerateOptions &options) {
  if (options.prompt == "-")
    options.promptFile = "/dev/stdin";
  if (options.promptFile.empty())
    return {};
  SINTER_TRY(options.prompt, readFile(options.promptFile));
  return {};
}

void cli::warnBeyondTraining(const Executable &executable, int64_t positions) {
  // Where frequencies follow the length, what is said of that is enough (noteStretchedPositions).
  Expected<int64_t> trained = executable.metadataNumber("max_positions");
  if (trained && positions > *trained && !executable.metadata("rotary_length"))
    std::fprintf(stderr,
                 "sinter: warning: %lld positions are more than the %lld that the model was made "
                 "for; what it writes beyond these may make no sense\n",
                 static_cast<long long>(positions), static_cast<long long>(*trained));
}

Expected<std::vector<int32_t>> cli::promptTokens(const Executable &executable,
                                                 const GenerateOptions &options) {
  if (options.hasPrompt) {
    SINTER_TRY(Tokenizer tokenizer, openTokenizer(executable));
    return tokenizer.encode(options.prompt);
  }
  if (options.tokens.empty())
    return fail("prompt", "there is none",
                "give --prompt TEXT, --prompt-file FILE or --tokens 1,2,3");
  return parseIds(options.tokens);
}

/// Prints text at once; false once nobody listens any more.
static bool printNow(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return flushOutput().has_value();
}

static const char *nameOf(StopReason reason) {
  switch (reason) {
  case StopReason::EndOfSequence:
    return "end_of_sequence";
  case StopReason::MaxNewTokens:
    return "max_new_tokens";
  case StopReason::Capacity:
    return "capacity";
  case StopReason::Caller:
    return "output_closed";
  }
  return "";
}

static void printObject(const GenerateResult &result, const std::optional<std::string> &text,
                        const GenerateTimes &times, uint64_t peakBytes) {
  nlohmann::json object = {{"ids", result.tokens},
                           {"stop", nameOf(result.reason)},
                           {"prompt_tokens", times.promptTokens},
                           {"new_tokens", times.newTokens},
                           {"prefill_ms", times.prefillSeconds * 1e3},
                           {"decode_ms", times.decodeSeconds * 1e3},
                           {"peak_bytes", peakBytes}};
  if (text)
    object["text"] = *text;
  if (times.newTokens > 1)
    object["tokens_per_second"] = double(times.newTokens - 1) / times.decodeSeconds;
  printJson(object);
}

static void printTimes(const GenerateTimes &times) {
  std::fprintf(stderr, "%llu prompt tokens in %.1f ms",
               static_cast<unsigned long long>(times.promptTokens), times.prefillSeconds * 1e3);
  if (times.newTokens > 1)
    std::fprintf(stderr, ", then %.1f tokens/s", double(times.newTokens - 1) / times.decodeSeconds);
  std::fputc('\n', stderr);
}

/// Says where a model's text will not be transformers' from the trained length on.
static void noteStretchedPositions(const Executable &executable) {
  auto length = executable.metadata("rotary_length"),
       trained = executable.metadata("trained_length");
  if (!length || !trained)
    return;
  std::fprintf(
      stderr,
      "sinter: note: rotary frequencies are those of %s tokens from the first token on, the "
      "model was trained on %s; transformers changes them as a text grows beyond that, and "
      "may continue it otherwise\n",
      std::string(*length).c_str(), std::string(*trained).c_str());
}

Expected<void> cli::generate(std::shared_ptr<const Executable> executable,
                             const WeightSource *weights, const GenerateOptions &options) {
  GenerateRequest request;
  SINTER_TRY(request.prompt, promptTokens(*executable, options));
  request.maxNewTokens = options.maxNewTokens;
  request.sampling = {static_cast<float>(options.temperature), options.topK,
                      static_cast<float>(options.topP), options.seed.value_or(0)};

  std::optional<StreamDecoder> decoder;
  if (!options.ids) {
    Expected<Tokenizer> tokenizer = openTokenizer(*executable);
    if (!tokenizer && !options.json)
      return tl::unexpected(tokenizer.error());
    if (tokenizer)
      decoder.emplace(*tokenizer);
  }

  SessionOptions sessionOptions;
  sessionOptions.threads = options.threads;
  sessionOptions.weights = weights;
  sessionOptions.seed = options.seed;
  for (const char *name : {"prefill", "decode"})
    if (executable->program(name))
      sessionOptions.programs.push_back(name);
  SINTER_TRY(std::unique_ptr<Session> session, Session::bind(executable, sessionOptions));
  SINTER_TRY(Generator generator, Generator::create(*session));

  noteStretchedPositions(*executable);

  // The new text depends on what stands before it: a space at the very beginning is dropped.
  if (decoder)
    for (int32_t token : request.prompt)
      decoder->push(token);
  std::string text;
  bool first = true;
  auto receive = [&](size_t, int32_t token) {
    std::string piece;
    if (options.ids)
      piece = (first ? "" : ",") + std::to_string(token);
    else if (decoder)
      piece = decoder->push(token);
    first = false;
    text += piece;
    return options.json || printNow(piece);
  };
  warnBeyondTraining(
      *executable, std::min(static_cast<int64_t>(request.prompt.size()) + options.maxNewTokens - 1,
                            generator.capacity()));
  SINTER_TRY(std::vector<GenerateResult> results, generator.run(std::span(&request, 1), receive));

  std::string rest = decoder ? decoder->flush() : "";
  text += rest;
  if (options.json) {
    printObject(results.front(), decoder ? std::optional(text) : std::nullopt, generator.times(),
                measureHeld(session->memory(), !executable->isForCpu()));
    return {};
  }
  // Text is printed as it is, so that it can be compared; a terminal gets its prompt on a new line.
  bool newline = options.ids || isatty(STDOUT_FILENO);
  printNow(rest + (newline ? "\n" : ""));
  SINTER_CHECK(flushOutput());
  printTimes(generator.times());
  if (results.front().reason == StopReason::Capacity)
    std::fprintf(stderr, "stopped early: all %lld positions of the cache are taken (--max-seq)\n",
                 static_cast<long long>(generator.capacity()));
  return {};
}
