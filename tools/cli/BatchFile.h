//===- BatchFile.h - Prompts from a file, texts to another ------*- C++ -*-===//
//
// A batch file has a JSON object a line:
//
//   {"id": "a", "prompt": "Once", "max_new_tokens": 20, "temperature": 0.8, "seed": 7}
//   {"tokens": [1, 2, 3], "stop": ["\n"], "ignore_eos": true}
//
// `prompt` or `tokens` is what to go on from. The rest may be missing: the options of a prompt, for
// which the command line's stand in, and an `id`, a text or a number. What comes of a prompt is an
// object, a line, in the order of the prompts:
//
//   {"id": "a", "ids": [...], "new_tokens": 20, "prompt_tokens": 1, "stop": "max_new_tokens",
//    "text": " upon a time"}
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Json.h"
#include "sinter/Generate.h"

namespace sinter::cli {

/// The prompts of a batch file.
struct BatchFile {
  std::vector<NamedPrompt> prompts; ///< named by file and line
  std::vector<nlohmann::json> ids;  ///< of the prompts; null: none

  /// Reads a file, with `defaults` for what a line does not say; `-` is the standard input. Fails,
  /// with the line, where it is no object, has a key that is not known or a value of another type,
  /// and where the file has no prompt.
  static Expected<BatchFile> read(const std::string &path, const PromptOptions &defaults);

  /// Tokens of the longest prompt, and of the longest with what is new, by a tokenizer that a
  /// prompt's text needs.
  struct Lengths {
    int64_t prompt = 0, total = 0;
  };
  Expected<Lengths> measure(const std::optional<Tokenizer> &tokenizer) const;
};

/// A text as members of a JSON object; `ids`: without the text itself.
nlohmann::json describe(const GeneratedText &text, bool ids);

/// The lines of a batch's results.
std::string writeResults(const BatchFile &batch, std::span<const GeneratedText> texts, bool ids);

} // namespace sinter::cli
