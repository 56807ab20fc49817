//===- TokenCache.h - Texts, tokenized once ---------------------*- C++ -*-===//
//
// The tokens of TEXT are kept beside it as TEXT.<hash>.bin, an ordinary `.bin`. The hash is of the
// text's content and of the tokenizer's: another text or tokenizer looks for another name. What the
// file itself must hold says TEXT.<hash>.bin.xxh128, a line that `xxh128sum --check` reads, too:
// ids that others wrote over, or cut off, are made again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Data/TokenFile.h"
#include <functional>
#include <optional>
#include <string_view>

namespace sinter::runtime {

/// Turns a text into ids.
using Tokenize = std::function<Expected<std::vector<int32_t>>(std::string_view text)>;

struct TokenizedText {
  TokenFile tokens;
  bool fromCache = false;
  std::optional<Error> damaged; ///< why a cache that was there was not read, but made again
  std::optional<Error> notKept; ///< why the cache could not be written; the tokens are in memory
};

/// Whether a file is one of those that openText keeps beside a text.
bool isKeptForText(const std::string &path);

/// The ids of the text file at `path`, from the cache beside it or from `tokenize`, which is then
/// called once with all of the text. `tokenizer` is what the ids depend on beside the text, such as
/// the content of tokenizer.json. Errors: the text cannot be read or is empty, `tokenize` fails, or
/// gives an id that is outside of the vocabulary.
Expected<TokenizedText> openText(const std::string &path, std::string_view tokenizer,
                                 int64_t vocabulary, const Tokenize &tokenize);

} // namespace sinter::runtime
