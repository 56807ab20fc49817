#include "tools/cli/GenerateText.h"
#include "runtime/Base/ReadFile.h"
#include "tools/cli/Flags.h"
#include "tools/cli/Ids.h"
#include "tools/cli/Output.h"
#include "tools/cli/RunOnRanks.h"
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
  command.add_option("--tokens", flags.tokens, "token ids to go on from: 1,2,3")
      ->excludes(flags.promptOption)
      ->excludes(flags.fileOption);
  addOptions(command, flags.generation);
  command
      .add_option("--stop", flags.generation.stop,
                  "a text to stop at, which is not printed; may be given more than once")
      ->allow_extra_args(false);
  command.add_flag("--ignore-eos", flags.generation.ignoreEos,
                   "go on behind a token that ends a sequence");
  command.add_flag("--ids", flags.ids, "print the new token ids on one line instead of text");
}

Expected<void> cli::readPrompt(GenerateFlags &flags) {
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

static const char *nameOf(StopReason reason) {
  switch (reason) {
  case StopReason::EndOfSequence:
    return "end_of_sequence";
  case StopReason::MaxNewTokens:
    return "max_new_tokens";
  case StopReason::MaxSequence:
    return "max_seq";
  case StopReason::Caller:
    return "output_closed";
  }
  return "";
}

static void printObject(const Generated &result, bool ids) {
  const GenerateTimes &times = result.times;
  nlohmann::json object = {{"ids", result.ids},
                           {"stop", result.stop ? "stop_text" : nameOf(result.reason)},
                           {"prompt_tokens", times.promptTokens},
                           {"new_tokens", times.newTokens},
                           {"prefill_ms", times.prefillSeconds * 1e3},
                           {"decode_ms", times.decodeSeconds * 1e3},
                           {"peak_bytes", result.peakBytes}};
  if (result.text && !ids)
    object["text"] = *result.text;
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

Expected<void> cli::generateText(const LoadedModel &model, const GenerateFlags &flags, bool json) {
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
