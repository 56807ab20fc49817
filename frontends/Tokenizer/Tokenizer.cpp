//===- Tokenizer.cpp - Text to token ids and back ------------------------===//

#include "frontends/Tokenizer/Tokenizer.h"
#include "frontends/Gguf/GgufTokenizer.h"

#include "frontends/Tokenizer/AddedTokens.h"
#include "frontends/Tokenizer/BpeModel.h"
#include "frontends/Tokenizer/Decoder.h"
#include "frontends/Tokenizer/Normalizer.h"
#include "frontends/Tokenizer/PostProcessor.h"
#include "frontends/Tokenizer/PreTokenizer.h"
#include "frontends/Tokenizer/Unicode.h"
#include "runtime/Base/ReadFile.h"

#include <algorithm>

namespace sinter {

using namespace tokenizer;

struct Tokenizer::Parts {
  AddedTokens added;
  std::unique_ptr<Normalizer> normalizer;     ///< may be null
  std::unique_ptr<PreTokenizer> preTokenizer; ///< may be null
  BpeModel model;
  PostProcessor postProcessor;
  std::unique_ptr<Decoder> decoder; ///< null: tokens with spaces between them
};

namespace {

constexpr const char *kTokenizerJson = "tokenizer.json";
constexpr const char *kVocabularyJson = "vocab.json";
constexpr const char *kMergesText = "merges.txt";

/// GPT-2's one special token, which its two files do not mention as such.
AddedToken endOfText() {
  AddedToken token;
  token.content = "<|endoftext|>";
  token.special = true;
  return token;
}

} // namespace

Expected<Tokenizer::Files> Tokenizer::readFiles(const std::filesystem::path &directory) {
  if (GgufFile::isPath(directory)) {
    SINTER_TRY(GgufFile file, GgufFile::open(directory));
    SINTER_TRY(Files files, makeGgufTokenizer(file, directory.string()));
    if (files.empty())
      return fail(directory.string(), "it has no tokenizer", "give token ids instead of text");
    return files;
  }
  auto present = [&](const char *name) {
    std::error_code error;
    return std::filesystem::is_regular_file(directory / name, error);
  };
  std::vector<const char *> names;
  if (present(kTokenizerJson))
    names = {kTokenizerJson};
  else if (present(kVocabularyJson) && present(kMergesText))
    names = {kVocabularyJson, kMergesText};
  else
    return fail(directory.string(), "has no tokenizer.json, nor vocab.json and merges.txt",
                "copy the model's tokenizer files there, or give token ids instead of text");
  Files files;
  for (const char *name : names) {
    SINTER_TRY(files[name], readFile(directory / name));
  }
  return files;
}

Expected<Tokenizer> Tokenizer::fromDirectory(const std::filesystem::path &directory) {
  SINTER_TRY(Files files, readFiles(directory));
  return fromFiles(files, directory);
}

Expected<Tokenizer> Tokenizer::fromFiles(const Files &files, const std::filesystem::path &origin) {
  auto nameOf = [&](const char *name) { return (origin / name).string(); };
  auto parts = std::make_shared<Parts>();
  auto file = files.find(kTokenizerJson);
  if (file == files.end()) {
    auto vocabulary = files.find(kVocabularyJson), merges = files.find(kMergesText);
    if (vocabulary == files.end() || merges == files.end())
      return fail(origin.empty() ? "tokenizer" : origin.string(),
                  "neither tokenizer.json nor vocab.json and merges.txt are present",
                  "compile the model with its tokenizer files, or give token ids instead of text");
    SINTER_TRY(TokenizerFile parsed,
               TokenizerFile::parseVocabulary(nameOf(kVocabularyJson), vocabulary->second));
    Reader reader(parsed.rest, nameOf(kVocabularyJson), "");
    if (!parsed.rest.is_object())
      return reader.bad("is not a JSON object");
    SINTER_TRY(parts->model, BpeModel::readGpt2(reader, std::move(parsed.vocabulary),
                                                nameOf(kMergesText), merges->second));
    if (!isValidUtf8(merges->second))
      return fail(nameOf(kMergesText), "is not valid UTF-8", "download the file again");
    parts->preTokenizer = makeGpt2PreTokenizer();
    parts->decoder = makeByteLevelDecoder();
    std::vector<AddedToken> added;
    if (parts->model.find(endOfText().content) >= 0)
      added.push_back(endOfText());
    SINTER_CHECK(parts->added.add(added, parts->model, nullptr));
    return Tokenizer(std::move(parts));
  }

  SINTER_TRY(TokenizerFile parsed, TokenizerFile::parse(nameOf(kTokenizerJson), file->second));
  Reader root(parsed.rest, nameOf(kTokenizerJson), "");
  if (!parsed.rest.is_object())
    return root.bad("is not a JSON object");
  SINTER_TRY(std::string version, root.string("version", "1.0"));
  if (version != "1.0")
    return root.unknown("the version", version);
  SINTER_TRY(Reader model, root.object("model"));
  SINTER_TRY(parts->model, BpeModel::read(model, std::move(parsed.vocabulary), parsed.merges));
  if (root.has("normalizer")) {
    SINTER_TRY(Reader reader, root.object("normalizer"));
    SINTER_TRY(parts->normalizer, readNormalizer(reader));
  }
  if (root.has("pre_tokenizer")) {
    SINTER_TRY(Reader reader, root.object("pre_tokenizer"));
    SINTER_TRY(parts->preTokenizer, readPreTokenizer(reader));
  }
  if (root.has("post_processor")) {
    SINTER_TRY(Reader reader, root.object("post_processor"));
    SINTER_TRY(parts->postProcessor, PostProcessor::read(reader));
  }
  if (root.has("decoder")) {
    SINTER_TRY(Reader reader, root.object("decoder"));
    SINTER_TRY(parts->decoder, readDecoder(reader));
  }
  SINTER_TRY(std::vector<AddedToken> added, AddedTokens::read(root));
  SINTER_CHECK(parts->added.add(added, parts->model, parts->normalizer.get()));
  return Tokenizer(std::move(parts));
}

Expected<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool addSpecial) const {
  Pieces pieces;
  pieces.text = repairUtf8(text);
  if (!pieces.text.empty())
    pieces.pieces.push_back({0, pieces.text.size(), -1, true});
  parts->added.split(pieces, false);
  if (parts->normalizer)
    SINTER_CHECK(rewrite(pieces, [&](Piece &piece, std::string_view old, std::string &out) {
      std::string normalized(old);
      bool lostStart = false;
      Expected<void> done = parts->normalizer->apply(normalized, lostStart);
      piece.atStart &= !lostStart;
      out += normalized;
      return done;
    }));
  parts->added.split(pieces, true);
  if (parts->preTokenizer)
    SINTER_CHECK(parts->preTokenizer->apply(pieces));

  std::vector<int32_t> ids;
  ids.reserve(pieces.pieces.size() + pieces.text.size() / 8);
  BpeModel::Scratch scratch(pieces.text.size());
  for (const Piece &piece : pieces.pieces)
    if (piece.id >= 0)
      ids.push_back(piece.id);
    else
      SINTER_CHECK(parts->model.encode(pieces.view(piece), ids, scratch));
  parts->postProcessor.apply(ids, addSpecial);
  return ids;
}

std::string Tokenizer::decodeRaw(std::span<const int32_t> ids, bool skipSpecial, bool raw) const {
  std::vector<std::string> strings;
  strings.reserve(ids.size());
  for (int32_t id : ids) {
    const std::string *token = parts->added.decoderToken(id);
    if (!token)
      token = parts->model.token(id);
    if (token && !(skipSpecial && parts->added.isSpecial(*token)))
      strings.push_back(*token);
  }
  if (parts->decoder)
    parts->decoder->apply(strings, raw);
  std::string text;
  for (const std::string &string : strings) {
    if (!parts->decoder && &string != strings.data())
      text += ' ';
    text += string;
  }
  return text;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skipSpecial) const {
  return decodeRaw(ids, skipSpecial, false);
}

int32_t Tokenizer::getVocabSize() const {
  return std::max(parts->model.getIdLimit(), parts->added.getIdLimit());
}

std::optional<int32_t> Tokenizer::tokenId(std::string_view token) const {
  int32_t id = parts->added.find(token);
  if (id < 0)
    id = parts->model.find(token);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<std::string> Tokenizer::token(int32_t id) const {
  if (const AddedToken *added = parts->added.token(id))
    return added->content;
  const std::string *token = parts->model.token(id);
  return token ? std::optional(*token) : std::nullopt;
}

bool Tokenizer::isSpecial(int32_t id) const {
  std::optional<std::string> content = token(id);
  return content && parts->added.isSpecial(*content);
}

std::string StreamDecoder::push(int32_t id) {
  constexpr size_t kWindow = 16;
  if (!tokenizer.token(id) || (skipSpecial && tokenizer.isSpecial(id)))
    return "";
  if (window.size() == kWindow) {
    // Forget the older half. The bytes not yet returned belong to the last few ids.
    window.erase(window.begin(), window.begin() + kWindow / 2);
    size_t pending = decoded.size() - emitted;
    decoded = tokenizer.decodeRaw(window, skipSpecial, true);
    emitted = decoded.size() - std::min(pending, decoded.size());
  }
  window.push_back(id);
  decoded = tokenizer.decodeRaw(window, skipSpecial, true);
  size_t whole = decoded.size() - incompleteUtf8Tail(decoded);
  if (whole <= emitted)
    return "";
  std::string text = repairUtf8(std::string_view(decoded).substr(emitted, whole - emitted));
  emitted = whole;
  return text;
}

std::string StreamDecoder::flush() {
  std::string text =
      repairUtf8(std::string_view(decoded).substr(std::min(emitted, decoded.size())));
  window.clear();
  decoded.clear();
  emitted = 0;
  return text;
}

} // namespace sinter
