#include "frontends/Gguf/GgufTokenizer.h"
#include "runtime/Base/Json.h"
#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace sinter {
namespace {

using Json = nlohmann::json;

// What pre-tokenizers split a text by, one after the other.
using Patterns = std::vector<const char *>;
#define SINTER_CONTRACTIONS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define SINTER_WORDS(digits)                                                                       \
  SINTER_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|)" digits                                       \
                      R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define SINTER_CASES(ending, digits)                                                               \
  R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)" ending         \
  R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)" ending        \
  "|" digits R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
constexpr const char *kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char *kLlama3 = SINTER_WORDS(R"(\p{N}{1,3})");
constexpr const char *kQwen2 = SINTER_WORDS(R"(\p{N})");
constexpr const char *kQwen35 =
    SINTER_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)"
                        R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *kSeedCoder = SINTER_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *kExaoneMoe = SINTER_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|)"
    R"(\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr const char *kTekken = SINTER_CASES("", R"(\p{N})");
constexpr const char *kGpt4o = SINTER_CASES(SINTER_CONTRACTIONS "?", R"(\p{N}{1,3})");
constexpr const char *kYoutu = SINTER_CASES(SINTER_CONTRACTIONS "?", R"(\p{N})");
constexpr const char *kScripts = // of Korean, punctuation, Bopomofo, Chinese and Japanese
    R"([가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+)";
constexpr const char *kDeepSeek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char *kBloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
#undef SINTER_CONTRACTIONS
#undef SINTER_WORDS
#undef SINTER_CASES

/// What a name of a file's stands for.
struct PreTokenizer {
  Patterns patterns; ///< none: GPT-2's own
  std::vector<const char *> names;
  bool composes = false;      ///< the text is normalized to NFC
  bool ignoresMerges = false; ///< a piece that is a token is not merged from parts
  bool beginsText = false;    ///< the first token goes before a text unless the file says otherwise
};
const PreTokenizer kPreTokenizers[] = {
    {.patterns = {},
     .names = {"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "exaone4", "roberta-bpe"}},
    {.patterns = {kLlama3},
     .names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "lfm2"},
     .ignoresMerges = true,
     .beginsText = true},
    {.patterns = {kLlama3}, .names = {"smaug-bpe", "dbrx", "chatglm-bpe"}},
    {.patterns = {kLlama3}, .names = {"glm4", "glm5"}, .ignoresMerges = true},
    {.patterns = {kQwen2},
     .names = {"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez"},
     .composes = true},
    {.patterns = {kQwen2}, .names = {"hunyuan", "solar-open", "grok-2"}},
    {.patterns = {kQwen35}, .names = {"qwen35"}, .composes = true},
    {.patterns = {R"(\p{N})", kGpt2},
     .names = {"starcoder", "refact", "smollm", "codeshell", "minerva-7b"}},
    {.patterns = {R"(\p{N})", kGpt2}, .names = {"command-r", "exaone"}, .composes = true},
    {.patterns = {kTekken}, .names = {"tekken"}, .ignoresMerges = true, .beginsText = true},
    {.patterns = {kGpt4o}, .names = {"gpt-4o", "llama4", "minimax-m2"}},
    {.patterns = {R"(\p{N}{1,3})", R"([一-龥぀-ゟ゠-ヿ]+)", kDeepSeek3},
     .names = {"deepseek-v3", "hunyuan-dense", "joyai-llm"}},
    {.patterns = {R"([\r\n])", R"(\s?[\p{Lu}\p{Ll}\p{Lt}]+)", R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)",
                  R"(\s+$)", R"([一-龥ࠀ-一가-퟿]+)", R"(\p{N})"},
     .names = {"deepseek-llm"}},
    {.patterns = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", R"([一-龥ࠀ-一가-퟿]+)",
                  R"(\p{N})"},
     .names = {"deepseek-coder"}},
    {.patterns = {kScripts, kYoutu}, .names = {"youtu"}, .ignoresMerges = true},
    {.patterns = {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2, R"([0-9][0-9][0-9])"}, .names = {"falcon"}},
    {.patterns = {kBloom}, .names = {"bloom", "gpt3-finnish", "poro-chat"}},
    {.patterns = {kSeedCoder}, .names = {"seed-coder"}},
    {.patterns = {kExaoneMoe}, .names = {"exaone-moe"}},
};

/// What is known of a name; null where nothing is.
const PreTokenizer *findPreTokenizer(std::string_view name) {
  auto found = std::ranges::find_if(kPreTokenizers, [&](const PreTokenizer &each) {
    return std::ranges::find(each.names, name) != each.names.end();
  });
  return found == std::end(kPreTokenizers) ? nullptr : found;
}

// Kinds of tokens, as files number them.
enum TokenKind : int64_t { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Byte = 6 };

constexpr const char *kSpace = "\u2581"; // what SentencePiece writes for a space

class TokenizerMaker {
public:
  TokenizerMaker(const GgufFile &file, std::string_view source) : file(file), source(source) {}

  Expected<std::map<std::string, std::string>> make() {
    const Json *model = find("model");
    if (!model || *model == "none" || *model == "no_vocab")
      return std::map<std::string, std::string>();
    SINTER_CHECK(readTokens());
    Json json = {{"version", "1.0"}, {"added_tokens", addedTokens()}};
    if (*model == "gpt2") {
      SINTER_CHECK(addByteLevel(json));
    } else if (*model == "llama") {
      SINTER_TRY(Json merges, mergesOfScores());
      SINTER_CHECK(addSentencePiece(json, std::move(merges)));
    } else if (*model == "gemma4") {
      SINTER_TRY(Json merges, mergesOfFile());
      SINTER_CHECK(addSentencePiece(json, std::move(merges)));
    } else {
      return bad("its tokenizer is " + writeJson(*model) + ", which is not known");
    }
    SINTER_CHECK(addSpecial(json, *model == "llama"));
    return std::map<std::string, std::string>{{"tokenizer.json", writeJson(json)}};
  }

private:
  const GgufFile &file;
  std::string_view source;
  std::vector<std::string> tokens;
  std::vector<int64_t> kinds;

  tl::unexpected<Error> bad(const std::string &why) const {
    return fail(std::string(source), why, "give token ids, or the model's Hugging Face directory");
  }

  const Json *find(const std::string &key) const {
    auto found = file.metadata.find("tokenizer.ggml." + key);
    return found == file.metadata.end() ? nullptr : &*found;
  }

  Expected<void> readTokens() {
    const Json *list = find("tokens"), *types = find("token_type");
    if (!list || !list->is_array())
      return bad("it has no tokenizer.ggml.tokens");
    for (const Json &token : *list) {
      if (!token.is_string())
        return bad("its tokenizer.ggml.tokens are no texts");
      tokens.push_back(token.get<std::string>());
    }
    kinds.assign(tokens.size(), Normal);
    if (!types)
      return {};
    if (!types->is_array() || types->size() != tokens.size())
      return bad("its tokenizer.ggml.token_type has not an entry for each token");
    for (size_t i = 0; i < kinds.size(); ++i) {
      if (!(*types)[i].is_number_integer())
        return bad("its tokenizer.ggml.token_type are no numbers");
      kinds[i] = (*types)[i].get<int64_t>();
    }
    return {};
  }

  Json addedTokens() const {
    Json added = Json::array();
    for (size_t i = 0; i < tokens.size(); ++i)
      if (kinds[i] == Control || kinds[i] == UserDefined || kinds[i] == Unknown)
        added.push_back({{"id", i},
                         {"content", tokens[i]},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", kinds[i] != UserDefined}});
    return added;
  }

  Expected<Json> vocabulary() const {
    Json vocabulary = Json::object();
    for (size_t i = 0; i < tokens.size(); ++i)
      if (!vocabulary.emplace(tokens[i], i).second)
        return bad("it has two tokens " + writeJson(Json(tokens[i])));
    return vocabulary;
  }

  Expected<Json> mergesOfFile() const {
    const Json *merges = find("merges");
    if (!merges || !merges->is_array())
      return bad("it has no tokenizer.ggml.merges");
    return *merges;
  }

  Expected<void> addByteLevel(Json &json) const {
    SINTER_TRY(Json merges, mergesOfFile());
    std::string name = "gpt-2";
    if (const Json *given = find("pre"); given && given->is_string())
      name = given->get<std::string>();
    const PreTokenizer *pre = findPreTokenizer(name);
    if (!pre)
      return bad("its tokenizer.ggml.pre is '" + name + "', which is not known");
    SINTER_TRY(Json vocab, vocabulary());
    json["model"] = {{"type", "BPE"},
                     {"vocab", std::move(vocab)},
                     {"merges", std::move(merges)},
                     {"ignore_merges", pre->ignoresMerges}};
    Json bytes = {{"type", "ByteLevel"},
                  {"add_prefix_space", false},
                  {"trim_offsets", true},
                  {"use_regex", pre->patterns.empty()}};
    Json parts = Json::array();
    for (const char *pattern : pre->patterns)
      parts.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", pattern}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
    parts.push_back(bytes);
    json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", std::move(parts)}};
    json["normalizer"] = pre->composes ? Json{{"type", "NFC"}} : Json();
    json["decoder"] = bytes;
    return {};
  }

  /// The merges of SentencePiece: it joins the two neighbours whose piece has the highest score.
  Expected<Json> mergesOfScores() const {
    const Json *scores = find("scores");
    if (!scores || !scores->is_array() || scores->size() != tokens.size())
      return bad("its tokenizer.ggml.scores has not an entry for each token");
    std::unordered_map<std::string_view, double> pieces;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!(*scores)[i].is_number())
        return bad("its tokenizer.ggml.scores are no numbers");
      if (kinds[i] == Normal || kinds[i] == UserDefined)
        pieces.emplace(tokens[i], (*scores)[i].get<double>());
    }
    struct Merge {
      double score;
      std::string_view left, right;
      auto order() const { return std::tuple(score, left.size(), right.size()); }
    };
    std::vector<Merge> merges;
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::string_view piece = tokens[i];
      auto found = pieces.find(piece);
      if (found == pieces.end() || found->first.data() != piece.data())
        continue;
      for (size_t cut = 1; cut < piece.size(); ++cut)
        if (pieces.contains(piece.substr(0, cut)) && pieces.contains(piece.substr(cut)))
          merges.push_back({found->second, piece.substr(0, cut), piece.substr(cut)});
    }
    std::ranges::stable_sort(merges,
                             [](const Merge &a, const Merge &b) { return a.order() > b.order(); });
    Json list = Json::array();
    for (const Merge &merge : merges)
      list.push_back(Json::array({std::string(merge.left), std::string(merge.right)}));
    return list;
  }

  Expected<void> addSentencePiece(Json &json, Json merges) const {
    SINTER_TRY(Json vocab, vocabulary());
    auto unknown = std::ranges::find(kinds, int64_t(Unknown));
    json["model"] = {
        {"type", "BPE"},
        {"vocab", std::move(vocab)},
        {"merges", std::move(merges)},
        {"byte_fallback", true},
        {"fuse_unk", true},
        {"unk_token", unknown == kinds.end()
                          ? Json()
                          : Json(tokens[static_cast<size_t>(unknown - kinds.begin())])}};
    const Json *prefix = find("add_space_prefix");
    bool prepends = !prefix || *prefix == true;
    Json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}};
    json["normalizer"] = replace;
    if (prepends)
      json["normalizer"] = {{"type", "Sequence"},
                            {"normalizers", {{{"type", "Prepend"}, {"prepend", kSpace}}, replace}}};
    json["pre_tokenizer"] = nullptr;
    Json decoders = {{{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}},
                     {{"type", "ByteFallback"}},
                     {{"type", "Fuse"}}};
    if (prepends)
      decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    json["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
    return {};
  }

  /// The special tokens around a text.
  Expected<void> addSpecial(Json &json, bool sentencePiece) const {
    const Json *name = find("pre");
    const PreTokenizer *pre =
        name && name->is_string() ? findPreTokenizer(name->get<std::string>()) : nullptr;
    bool begins = sentencePiece || (pre && pre->beginsText);
    Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    Json single = Json::array({text}), special = Json::object();
    auto add = [&](const char *flag, const char *id, bool absent, bool before) -> Expected<void> {
      const Json *given = find(flag), *number = find(id);
      if (!(given ? *given == true : absent) || !number)
        return {};
      if (!number->is_number_unsigned() || number->get<uint64_t>() >= tokens.size())
        return bad("its tokenizer.ggml." + std::string(id) + " is no token's id");
      const std::string &token = tokens[number->get<size_t>()];
      Json item = {{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
      single.insert(before ? single.begin() : single.end(), item);
      special[token] = {{"id", token}, {"ids", {*number}}, {"tokens", {token}}};
      return {};
    };
    SINTER_CHECK(add("add_bos_token", "bos_token_id", begins, /*before=*/true));
    SINTER_CHECK(add("add_eos_token", "eos_token_id", false, /*before=*/false));
    if (special.empty())
      return {};
    Json pair = single;
    pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
    json["post_processor"] = {{"type", "TemplateProcessing"},
                              {"single", single},
                              {"pair", pair},
                              {"special_tokens", special}};
    return {};
  }
};

} // namespace

Expected<std::map<std::string, std::string>> makeGgufTokenizer(const GgufFile &file,
                                                               std::string_view source) {
  return TokenizerMaker(file, source).make();
}

} // namespace sinter
