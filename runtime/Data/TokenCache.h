//===- TokenCache.h - Texts, tokenized once ---------------------*- C++ -*-===//
//
// The tokens of TEXT are kept beside it as TEXT.<hash>.bin, an ordinary `.bin`. The hash is of the
// text's content and of the tokenizer's, so a cache can be stale but never wrong: another text or
// tokenizer looks for another name. It is written aside and renamed, so it is whole or absent.
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
  std::optional<Error> notKept; ///< why the cache could not be written; the tokens are in memory
};

/// The ids of the text file at `path`, from the cache beside it or from `tokenize`, which is then
/// called once with all of the text. `tokenizer` is what the ids depend on beside the text, such as
/// the content of tokenizer.json. Errors: the text cannot be read or is empty, `tokenize` fails, or
/// gives an id that is outside of the vocabulary.
Expected<TokenizedText> openText(const std::string &path, std::string_view tokenizer,
                                 int64_t vocabulary, const Tokenize &tokenize);

} // namespace sinter::runtime
