#include "sinter/TrainData.h"
#include "frontends/Tokenizer/Tokenizer.h"
#include "runtime/Base/Json.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Data/TokenCache.h"
#include <cmath>
#include <glob.h>
#include <nlohmann/json.hpp>

using namespace sinter;
namespace fs = std::filesystem;

/// Where the model's tokenizer files are, or were read from.
static fs::path getTokenizerFolder(const DataOptions &options, const Model &model) {
  return options.tokenizer.empty() ? model.path : fs::path(options.tokenizer);
}

Expected<void> sinter::chooseTokenizer(const DataOptions &options, Model &model) {
  fs::path directory = getTokenizerFolder(options, model);
  if (!options.tokenizer.empty()) {
    SINTER_TRY(model.tokenizerFiles, Tokenizer::readFiles(directory));
  }
  if (model.tokenizerFiles.empty() || model.isExecutable())
    return {};
  for (const char *name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                           "tokenizer.model", "chat_template.jinja"})
    if (std::error_code ignored; fs::exists(directory / name, ignored)) {
      SINTER_TRY(model.tokenizerFiles[name], readFile(directory / name));
    }
  return {};
}

/// The files that a list of paths and patterns names. A file may have any name. A pattern does not
/// mean the ids that are kept beside texts: the next run with it is to read the same data.
static Expected<std::vector<std::string>> expand(const std::vector<std::string> &patterns,
                                                 const char *option) {
  std::vector<std::string> paths;
  for (const std::string &pattern : patterns) {
    std::error_code ignored;
    if (fs::exists(pattern, ignored)) {
      paths.push_back(pattern);
      continue;
    }
    glob_t found{};
    bool matched = ::glob(pattern.c_str(), 0, nullptr, &found) == 0;
    for (size_t i = 0; matched && i < found.gl_pathc; ++i)
      if (!runtime::isKeptForText(found.gl_pathv[i]))
        paths.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
    if (!matched)
      return fail("`" + std::string(option) + "` " + pattern, "there is no such file",
                  "check the path; a pattern stands in quotes");
  }
  for (const std::string &path : paths)
    if (std::error_code ignored; fs::is_directory(path, ignored))
      return fail("`" + std::string(option) + "` " + path, "is a directory",
                  "name its files: '" + path + "/*.txt'");
  return paths;
}

namespace {
/// Opens files one by one, with what all of them share.
class FileOpener {
public:
  /// @param folder of the tokenizer's files, for errors
  static Expected<FileOpener> create(const Model &model, const fs::path &folder,
                                     const Observer &observer) {
    FileOpener opener(model.spec.vocabSize, observer);
    if (!model.tokenizerFiles.empty()) {
      SINTER_TRY(opener.tokenizer, Tokenizer::fromFiles(model.tokenizerFiles, folder));
      for (const auto &[name, content] : model.tokenizerFiles)
        opener.tokenizerKey += name + "\n" + content;
    }
    return opener;
  }

  Expected<runtime::TokenFile> open(const std::string &path) {
    if (fs::path(path).extension() == ".bin")
      return runtime::TokenFile::open(path, runtime::tokenWidthFor(vocabulary), vocabulary);
    if (tokenizer)
      return openText(path);
    constexpr int64_t kBytes = 256;
    if (vocabulary < kBytes)
      return fail(path,
                  "the model has no tokenizer, and a vocabulary of " + std::to_string(vocabulary) +
                      " does not hold the 256 bytes",
                  "give `tokenizer` DIR, token ids as .bin, or a vocab_size of 256 or more");
    asBytes = true;
    return runtime::TokenFile::open(path, runtime::TokenWidth::One, vocabulary);
  }

  bool asBytes = false;

private:
  FileOpener(int64_t vocabulary, const Observer &observer)
      : vocabulary(vocabulary), observer(observer) {}

  Expected<runtime::TokenFile> openText(const std::string &path) {
    Progress progress(observer, "tokenizing " + path, 0);
    SINTER_TRY(runtime::TokenizedText text,
               runtime::openText(path, tokenizerKey, vocabulary, [&](std::string_view content) {
                 progress.advance(0);
                 return tokenizer->encode(content, /*addSpecial=*/true);
               }));
    if (text.damaged)
      observer.note("the ids of " + path + " are made again: " + text.damaged->message());
    if (text.notKept)
      observer.note("the ids of " + path +
                    " are not kept for the next time: " + text.notKept->message());
    return std::move(text.tokens);
  }

  int64_t vocabulary;
  const Observer &observer;
  std::optional<Tokenizer> tokenizer;
  std::string tokenizerKey = "with special tokens\n";
};
} // namespace

static Expected<runtime::TokenStream> openAll(const std::vector<std::string> &patterns,
                                              const char *option, FileOpener &opener) {
  SINTER_TRY(std::vector<std::string> paths, expand(patterns, option));
  std::vector<runtime::TokenFile> files;
  for (const std::string &path : paths) {
    SINTER_TRY(runtime::TokenFile file, opener.open(path));
    files.push_back(std::move(file));
  }
  return runtime::TokenStream(std::move(files));
}

/// The id that ends a document.
static Expected<int32_t> getDocumentEnd(const Model &model, const DataOptions &options) {
  if (options.documentEnd && *options.documentEnd >= model.spec.vocabSize)
    return fail("`document_end` " + std::to_string(*options.documentEnd),
                "the vocabulary has the ids 0 to " + std::to_string(model.spec.vocabSize - 1),
                "give one of them");
  if (options.documentEnd)
    return static_cast<int32_t>(*options.documentEnd);
  if (!model.tokenizerFiles.empty()) {
    SINTER_TRY(Tokenizer tokenizer,
               Tokenizer::fromFiles(model.tokenizerFiles, getTokenizerFolder(options, model)));
    if (std::optional<int32_t> id = tokenizer.tokenId("<|endoftext|>"))
      return *id;
    if (!model.spec.eosIds.empty())
      return static_cast<int32_t>(model.spec.eosIds.front());
  }
  return fail("`document_mask`", "nothing says which token ends a document",
              "give `document_end` ID");
}

Expected<runtime::TokenStream> sinter::openTokens(const Model &model,
                                                  const std::vector<std::string> &patterns,
                                                  const char *option, const Observer &observer) {
  SINTER_TRY(FileOpener opener, FileOpener::create(model, model.path, observer));
  return openAll(patterns, option, opener);
}

Expected<OpenData> sinter::openData(const Model &model, const DataOptions &options,
                                    bool documentMask, const Observer &observer) {
  double split = options.validationSplit;
  if (!(split >= 0 && split < 1))
    return fail("`val_split`", "it is not a number from 0 to below 1", "give 0.1, for example");
  if (options.documentEnd && !documentMask)
    return fail("`document_end` " + std::to_string(*options.documentEnd),
                "is of documents that do not see each other",
                "add `document_mask`, or leave it out");
  SINTER_TRY(FileOpener opener,
             FileOpener::create(model, getTokenizerFolder(options, model), observer));
  SINTER_TRY(runtime::TokenStream stream, openAll(options.files, "data", opener));
  OpenData data{{std::move(stream), std::nullopt}, std::nullopt, false, ""};
  runtime::TrainData &streams = data.streams;
  if (!options.validationFiles.empty()) {
    SINTER_TRY(streams.validation, openAll(options.validationFiles, "val_data", opener));
  } else if (split > 0) {
    uint64_t size = streams.train.size();
    uint64_t kept = size - static_cast<uint64_t>(std::llround(double(size) * split));
    if (kept == 0 || kept == size)
      return fail("`val_split`", "it leaves nothing of " + std::to_string(size) + " tokens",
                  "give more data or another part");
    streams.validation = streams.train.part(kept, size);
    streams.train = streams.train.part(0, kept);
  }
  data.asBytes = opener.asBytes;
  constexpr size_t kDigits = 16;
  data.fingerprint = std::to_string(streams.train.size()) + " tokens " +
                     streams.train.getHash().substr(0, kDigits);
  if (documentMask) {
    SINTER_TRY(data.endOfText, getDocumentEnd(model, options));
  }
  return data;
}

std::map<std::string, std::string> sinter::makeByteTokenizer() {
  // GPT-2's alphabet: bytes that print stand for themselves, the others for characters from 256 on.
  nlohmann::ordered_json vocabulary = nlohmann::ordered_json::object();
  int replaced = 0;
  for (int byte = 0; byte < 256; ++byte) {
    bool prints = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    int code = prints ? byte : 256 + replaced++;
    std::string character(1, static_cast<char>(code));
    if (code >= 0x80)
      character = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    vocabulary[character] = byte;
  }
  nlohmann::ordered_json byteLevel = {{"type", "ByteLevel"},
                                      {"add_prefix_space", false},
                                      {"trim_offsets", true},
                                      {"use_regex", false}};
  nlohmann::ordered_json tokenizer = {{"version", "1.0"},
                                      {"truncation", nullptr},
                                      {"padding", nullptr},
                                      {"added_tokens", nlohmann::json::array()},
                                      {"normalizer", nullptr},
                                      {"pre_tokenizer", byteLevel},
                                      {"post_processor", nullptr},
                                      {"decoder", byteLevel},
                                      {"model",
                                       {{"type", "BPE"},
                                        {"dropout", nullptr},
                                        {"unk_token", nullptr},
                                        {"continuing_subword_prefix", nullptr},
                                        {"end_of_word_suffix", nullptr},
                                        {"fuse_unk", false},
                                        {"byte_fallback", false},
                                        {"vocab", vocabulary},
                                        {"merges", nlohmann::json::array()}}}};
  nlohmann::ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                   {"clean_up_tokenization_spaces", false}};
  return {{"tokenizer.json", writeJson(tokenizer, 1) + "\n"},
          {"tokenizer_config.json", writeJson(config, 1) + "\n"}};
}
