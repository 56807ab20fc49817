#include "runtime/Data/TokenCache.h"
#include "runtime/Base/AtomicFile.h"
#include "runtime/Base/ContentHash.h"
#include "runtime/Base/ReadFile.h"
#include <filesystem>

namespace sinter::runtime {
namespace {

namespace fs = std::filesystem;
constexpr const char *checksumExtension = ".xxh128";

std::string cachePath(const std::string &path, std::span<const std::byte> text,
                      std::string_view tokenizer, TokenWidth width) {
  ContentHash hash;
  hash.add("tokens 1, width " + std::to_string(static_cast<int>(width)) + ", tokenizer of " +
           std::to_string(tokenizer.size()) + " bytes\n");
  hash.add(tokenizer);
  hash.add(text);
  return path + "." + hash.hex() + ".bin";
}

std::string checksumLine(const std::string &cache, const std::string &hash) {
  return hash + "  " + fs::path(cache).filename().string() + "\n";
}

Expected<void> keep(const std::string &cache, std::span<const std::byte> packed) {
  std::string line = checksumLine(cache, contentHash(packed));
  SINTER_CHECK(writeFileAtomically(cache, packed));
  return writeFileAtomically(cache + checksumExtension, std::as_bytes(std::span(line)));
}

Expected<TokenFile> openKept(const std::string &cache, TokenWidth width, int64_t vocabulary) {
  SINTER_TRY(TokenFile tokens, TokenFile::open(cache, width, vocabulary));
  Expected<std::string> line = readFile(cache + checksumExtension);
  if (!line)
    return fail(cache, "it has no checksum beside it", "");
  if (*line != checksumLine(cache, tokens.getHash()))
    return fail(cache, "its content is not what its checksum says", "");
  return tokens;
}

} // namespace

bool isKeptForText(const std::string &path) {
  fs::path ids = path;
  if (ids.extension() == checksumExtension)
    ids.replace_extension();
  std::string hash = ids.stem().extension().string();
  std::error_code ignored;
  return ids.extension() == ".bin" && hash.size() == 33 &&
         hash.find_first_not_of("0123456789abcdef", 1) == std::string::npos &&
         fs::exists(ids.parent_path() / ids.stem().stem(), ignored);
}

Expected<TokenizedText> openText(const std::string &path, std::string_view tokenizer,
                                 int64_t vocabulary, const Tokenize &tokenize) {
  SINTER_TRY(MappedFile text, MappedFile::open(path));
  if (text.getBytes().empty())
    return fail(path, "it is empty", "give a file with text in it");
  TokenWidth width = tokenWidthFor(vocabulary);
  std::string cache = cachePath(path, text.getBytes(), tokenizer, width);
  std::optional<Error> damaged;
  if (std::error_code ignored; fs::exists(cache, ignored)) {
    Expected<TokenFile> tokens = openKept(cache, width, vocabulary);
    if (tokens) {
      tokens->setName(path);
      return TokenizedText{std::move(*tokens), true, std::nullopt, std::nullopt};
    }
    damaged = std::move(tokens).error();
  }
  const char *characters = reinterpret_cast<const char *>(text.getBytes().data());
  SINTER_TRY(std::vector<int32_t> ids, tokenize({characters, text.getBytes().size()}));
  for (int32_t id : ids)
    if (id < 0 || id >= vocabulary)
      return fail(path,
                  "the tokenizer gives the id " + std::to_string(id) +
                      ", the vocabulary has the ids 0 to " + std::to_string(vocabulary - 1),
                  "use the tokenizer that belongs to the model");
  std::vector<std::byte> packed = packTokens(ids, width);
  if (auto kept = keep(cache, packed); !kept) {
    SINTER_TRY(TokenFile tokens, TokenFile::fromMemory(path, std::move(packed), width, vocabulary));
    return TokenizedText{std::move(tokens), false, std::move(damaged), std::move(kept).error()};
  }
  SINTER_TRY(TokenFile tokens, TokenFile::open(cache, width, vocabulary));
  tokens.setName(path);
  return TokenizedText{std::move(tokens), false, std::move(damaged), std::nullopt};
}

} // namespace sinter::runtime
