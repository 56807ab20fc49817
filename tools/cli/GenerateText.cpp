#include "tools/cli/GenerateText.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/ReadFile.h"
#include "tools/cli/Flags.h"
#include "tools/cli/Ids.h"
#include "tools/cli/Output.h"
#include "tools/cli/RunOnRanks.h"
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace sinter;
using namespace sinter::cli;
using namespace sinter::runtime;

void cli::addGenerateFlags(CLI::App &command, GenerateFlags &flags) {
  flags.promptOption =
      command.add_option("--prompt", flags.prompt, "text to go on from; - for the standard input");
  flags.fileOption =
      command.add_option("--prompt-file", flags.promptFile, "file with the text to go on from")
          ->excludes(flags.promptOption);
  auto *tokens = command.add_option("--tokens", flags.tokens, "token ids to go on from: 1,2,3")
                     ->excludes(flags.promptOption)
                     ->excludes(flags.fileOption);
  auto *batch = command
                    .add_option("--batch-file", flags.batchFile,
                                "many prompts, --batch of them at a time (default: 8): a JSON "
                                "object a line, {\"prompt\": TEXT} or {\"tokens\": [1, 2, 3]} "
                                "with options of its own (\"max_new_tokens\": 8, \"seed\": 1) "
                                "and an \"id\"; - for the standard input")
                    ->excludes(flags.promptOption)
                    ->excludes(flags.fileOption)
                    ->excludes(tokens);
  command
      .add_option("-o,--out", flags.out,
                  "file for what comes of a batch file, an object a line in the order of the "
                  "prompts (default: the standard output)")
      ->needs(batch);
  addOptions(command, flags.generation);
  command
      .add_option("--stop", flags.generation.stop,
                  "a text to stop at, which is not printed; may be given more than once")
      ->allow_extra_args(false);
  command.add_flag("--ignore-eos", flags.generation.ignoreEos,
                   "go on behind a token that ends a sequence");
  command.add_flag("--ids", flags.ids, "print the new token ids on one line instead of text");
}

/// Fails where a file cannot be made: what a batch took hours for would have no place.
static Expected<void> checkOutput(const GenerateFlags &flags) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (flags.out == flags.batchFile || fs::equivalent(flags.out, flags.batchFile, error))
    return fail("--out " + flags.out, "it is the file with the prompts", "give another file");
  // A file is replaced, a stream is written to.
  fs::path place = flags.out;
  bool isStream = fs::exists(place, error) && !fs::is_regular_file(place, error);
  if (!isStream)
    place = place.parent_path();
  if (fs::is_directory(flags.out, error))
    return fail("--out " + flags.out, "it is a folder", "give a file");
  if (::access(place.empty() ? "." : place.c_str(), W_OK) != 0)
    return fail("--out " + flags.out,
                std::string(isStream ? "it" : "its folder") +
                    " cannot be written to: " + std::generic_category().message(errno),
                "give another file");
  return {};
}

static Expected<void> readBatch(GenerateFlags &flags) {
  if (!flags.out.empty())
    SINTER_CHECK(checkOutput(flags));
  if (flags.batchFile == "-" && flags.generation.communicator)
    return fail("--batch-file -", "ranks have no standard input", "give a file");
  SINTER_TRY(flags.batch, BatchFile::read(flags.batchFile, flags.generation));
  return {};
}

Expected<void> cli::readPrompt(GenerateFlags &flags) {
  if (!flags.batchFile.empty())
    return readBatch(flags);
  if (*flags.promptOption)
    flags.generation.prompt = flags.prompt;
  if (flags.generation.prompt == "-") {
    if (flags.generation.communicator)
      return fail("--prompt -", "ranks have no standard input", "give --prompt-file FILE");
    flags.promptFile = "/dev/stdin";
  }
  if (!flags.promptFile.empty()) {
    SINTER_TRY(flags.generation.prompt, readFile(flags.promptFile));
  }
  if (!flags.tokens.empty()) {
    SINTER_TRY(flags.generation.tokens, parseIds(flags.tokens));
  }
  return {};
}

/// Prints text at once; false once nobody listens any more.
static bool printNow(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return flushOutput().has_value();
}

static nlohmann::json describeCost(const GenerationCost &cost) {
  const GenerateTimes &times = cost.times;
  return {{"prompt_tokens", times.promptTokens},
          {"new_tokens", times.newTokens},
          {"prefill_ms", times.prefillSeconds * 1e3},
          {"decode_ms", times.decodeSeconds * 1e3},
          {"peak_bytes", cost.peakBytes}};
}

static void printObject(const Generated &result, bool ids) {
  nlohmann::json object = describe(result, ids);
  object.update(describeCost(result));
  const GenerateTimes &times = result.times;
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

static Expected<void> writeOut(const std::string &path, const std::string &lines) {
  Expected<void> written = writeFileAtomically(path, std::as_bytes(std::span(lines)));
  if (!written) // rather in a wrong place than nowhere
    printNow(lines);
  return written;
}

static Expected<void> generateBatch(const LoadedModel &model, const GenerateFlags &flags,
                                    bool json) {
  const BatchFile &batch = *flags.batch;
  SINTER_TRY(GeneratedTexts result, generateAll(model, flags.generation, batch.prompts));
  if (!isFirstRank())
    return {};
  std::string lines = writeResults(batch, result.texts, flags.ids);
  double seconds = result.times.prefillSeconds + result.times.decodeSeconds;
  double rate = seconds > 0 ? static_cast<double>(result.times.newTokens) / seconds : 0;
  if (flags.out.empty()) {
    printNow(lines);
    SINTER_CHECK(flushOutput());
  } else {
    SINTER_CHECK(writeOut(flags.out, lines));
  }
  if (json && !flags.out.empty()) {
    nlohmann::json object = describeCost(result);
    object["prompts"] = result.texts.size();
    object["tokens_per_second"] = rate;
    printJson(object);
  }
  std::fprintf(stderr, "%zu prompts, %llu tokens and %llu new ones in %.1f s, %.1f new ones/s\n",
               result.texts.size(), static_cast<unsigned long long>(result.times.promptTokens),
               static_cast<unsigned long long>(result.times.newTokens), seconds, rate);
  return {};
}

Expected<void> cli::generateText(const LoadedModel &model, const GenerateFlags &flags, bool json) {
  if (flags.batch)
    return generateBatch(model, flags, json);
  bool hasPrompt = flags.generation.prompt || !flags.generation.tokens.empty();
  if (hasPrompt && !flags.ids && !json)
    SINTER_CHECK(model.openTokenizer());
  size_t printed = 0;
  bool first = true;
  auto receive = [&](int32_t token, const std::string &text) {
    if (json)
      return true;
    std::string piece = flags.ids ? (first ? "" : ",") + std::to_string(token) : text;
    first = false;
    printed += piece.size();
    return printNow(piece);
  };
  SINTER_TRY(Generated result, generate(model, flags.generation, receive));
  if (json) {
    printObject(result, flags.ids);
    return {};
  }
  // Text is printed as it is, so that it can be compared; a terminal gets its prompt on a new line.
  bool newline = flags.ids || isatty(STDOUT_FILENO);
  printNow((flags.ids ? "" : result.text->substr(printed)) + (newline ? "\n" : ""));
  SINTER_CHECK(flushOutput());
  if (!isFirstRank())
    return {};
  printTimes(result.times);
  if (result.reason == StopReason::MaxSequence)
    std::fprintf(stderr, "stopped early: all %lld positions of the cache are taken (--max-seq)\n",
                 static_cast<long long>(result.maxSequence));
  return {};
}
