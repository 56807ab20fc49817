//===- GenerateText.h - Flags and output of `generate` ----------*- C++ -*-===//
#pragma once

#include "tools/cli/BatchFile.h"
#include <CLI/CLI.hpp>

namespace sinter::cli {

/// A prompt as the command line takes it, or a file of them, and how what follows is printed.
struct GenerateFlags {
  GenerateOptions generation;
  std::string prompt, promptFile, tokens;
  CLI::Option *promptOption = nullptr, *fileOption = nullptr;
  std::string batchFile, out;
  std::optional<BatchFile> batch; ///< what readPrompt() read
  bool ids = false;               ///< print ids instead of text
};

/// Adds --prompt, --prompt-file, --tokens, --batch-file and --out, those of GenerateOptions and
/// --ids.
void addGenerateFlags(CLI::App &command, GenerateFlags &flags);

/// Reads the prompt: the tokens given, or a text, which may be a file's or that of the standard
/// input (`--prompt -`), as it is, with the line break at its end. Ranks have no standard input.
/// Or all of a batch file; fails where its results could not be written.
Expected<void> readPrompt(GenerateFlags &flags);

/// Generates and prints to standard output: the text as it comes, the ids on one line, or one JSON
/// object. Of a batch file there is an object a line, in `--out` if it is given; where that cannot
/// be written in the end they are printed, and it fails. What it took goes to standard error.
/// @pre readPrompt() has succeeded
Expected<void> generateText(const LoadedModel &model, const GenerateFlags &flags, bool json);

} // namespace sinter::cli
