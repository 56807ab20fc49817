//===- Generate.h - The body of `sinter generate` ---------------*- C++ -*-===//
//
// Shared by `sinter`, which may have compiled the executable just now, and by `sinter-run`, which
// has no compiler.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Tokenizer/Tokenizer.h"
#include "runtime/Base/Error.h"
#include "runtime/Exec/Executable.h"
#include "runtime/Exec/WeightSource.h"
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sinter::cli {

struct GenerateOptions {
  std::string prompt;     ///< --prompt
  std::string promptFile; ///< --prompt-file
  std::string tokens;     ///< --tokens, instead of a prompt
  bool hasPrompt = false; ///< a prompt was given, perhaps empty
  int64_t maxNewTokens = 128;
  double temperature = 0; ///< 0: greedy
  int64_t topK = 0;       ///< 0: all
  double topP = 1;
  bool ids = false; ///< print ids instead of text

  /// Those that all commands share; the caller fills them in.
  std::optional<uint64_t> seed; ///< of sampling and random weights; else 0 and the executable's
  unsigned threads = 0;
  bool json = false;
};

/// Hands what was printed to standard output on to the system. Fails where not all of it was taken,
/// as by a full disk.
Expected<void> flushOutput();

/// Adds --prompt, --prompt-file, --tokens, --max-new-tokens, --temperature, --top-k, --top-p and
/// --ids.
void addGenerateOptions(CLI::App &command, GenerateOptions &options);

/// The tokenizer's files that an executable carries; empty where it has none.
Tokenizer::Files getTokenizerFiles(const runtime::Executable &executable);

/// The tokenizer that an executable carries, or an error that says how to do without.
Expected<Tokenizer> openTokenizer(const runtime::Executable &executable);

/// Reads the prompt where it is a file's or that of the standard input (`--prompt -`), as it is,
/// with the line break at its end. To be called before what is below.
Expected<void> readPrompt(GenerateOptions &options);

/// Says on standard error that `positions` are more than the model was trained on, if they are and
/// the executable tells.
void warnBeyondTraining(const runtime::Executable &executable, int64_t positions);

/// The ids of the prompt: the tokens given, else the text by the tokenizer that the executable
/// carries. Errors: neither or no tokens, no tokenizer, a number that is no id.
Expected<std::vector<int32_t>> promptTokens(const runtime::Executable &executable,
                                            const GenerateOptions &options);

/// Generates and prints to standard output: the text as it comes, the ids on one line, or one JSON
/// object. What it took goes to standard error. Without `weights` they are random, by the seed.
Expected<void> generate(std::shared_ptr<const runtime::Executable> executable,
                        const runtime::WeightSource *weights, const GenerateOptions &options);

} // namespace sinter::cli
