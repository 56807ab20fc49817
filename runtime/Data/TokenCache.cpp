#include "runtime/Data/TokenCache.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/ContentHash.h"
#include <unistd.h>

namespace sinter::runtime {
namespace {

std::string cachePath(const std::string &path, std::span<const std::byte> text,
                      std::string_view tokenizer, TokenWidth width) {
  ContentHash hash;
  hash.add("tokens 1, width " + std::to_string(static_cast<int>(width)) + ", tokenizer of " +
           std::to_string(tokenizer.size()) + " bytes\n");
  hash.add(tokenizer);
  hash.add(text);
  return path + "." + hash.hex() + ".bin";
}

} // namespace

Expected<TokenizedText> openText(const std::string &path, std::string_view tokenizer,
                                 int64_t vocabulary, const Tokenize &tokenize) {
  SINTER_TRY(MappedFile text, MappedFile::open(path));
  if (text.bytes().empty())
    return fail(path, "it is empty", "give a file with text in it");
  TokenWidth width = tokenWidthFor(vocabulary);
  std::string cache = cachePath(path, text.bytes(), tokenizer, width);
  if (::access(cache.c_str(), R_OK) == 0) {
    SINTER_TRY(TokenFile tokens, TokenFile::open(cache, width, vocabulary));
    return TokenizedText{std::move(tokens), true, std::nullopt};
  }
  const char *characters = reinterpret_cast<const char *>(text.bytes().data());
  SINTER_TRY(std::vector<int32_t> ids, tokenize({characters, text.bytes().size()}));
  for (int32_t id : ids)
    if (id < 0 || id >= vocabulary)
      return fail(path,
                  "the tokenizer gives the id " + std::to_string(id) +
                      ", the vocabulary has the ids 0 to " + std::to_string(vocabulary - 1),
                  "use the tokenizer that belongs to the model");
  std::vector<std::byte> packed = packTokens(ids, width);
  if (auto written = writeFileAtomically(cache, packed); !written) {
    SINTER_TRY(TokenFile tokens, TokenFile::fromMemory(path, std::move(packed), width, vocabulary));
    return TokenizedText{std::move(tokens), false, written.error()};
  }
  SINTER_TRY(TokenFile tokens, TokenFile::open(cache, width, vocabulary));
  return TokenizedText{std::move(tokens), false, std::nullopt};
}

} // namespace sinter::runtime
