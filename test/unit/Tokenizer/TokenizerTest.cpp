// The tokenizer's own promises: what it says of bad files, and how it behaves at the edges.

#include "frontends/Tokenizer/Tokenizer.h"

#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace sinter {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

/// A small good file for tests to damage: letters, "ab", "abc".
Json small() {
  return Json::parse(R"({
    "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null,
    "post_processor": null, "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4},
              "merges": [["a", "b"], ["ab", "c"]]}})");
}

Expected<Tokenizer> load(const Json &json) {
  return Tokenizer::fromFiles({{"tokenizer.json", json.dump()}});
}

Tokenizer loaded(const Json &json) {
  Expected<Tokenizer> tokenizer = load(json);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message();
  return *tokenizer;
}

Ids encode(const Json &json, std::string_view text) { return loaded(json).encode(text).value(); }

/// Loading must fail in one line that has `part`.
void expectError(const Expected<Tokenizer> &tokenizer, const std::string &part) {
  ASSERT_FALSE(tokenizer);
  std::string message = tokenizer.error().message();
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(Tokenizer, MergesInOrder) {
  EXPECT_EQ(encode(small(), "abcab"), (Ids{4, 3}));
  EXPECT_EQ(encode(small(), "cab"), (Ids{2, 3}));
  EXPECT_EQ(encode(small(), ""), Ids{});
}

TEST(Tokenizer, UnknownCharactersWithoutUnknownTokenAreDropped) {
  EXPECT_EQ(encode(small(), "aéb"), (Ids{3}));
}

TEST(Tokenizer, LooksUpTokens) {
  Json json = small();
  json["added_tokens"] = {{{"id", 5}, {"content", "<s>"}, {"special", true}}};
  Tokenizer tokenizer = loaded(json);
  EXPECT_EQ(tokenizer.getVocabSize(), 6);
  EXPECT_EQ(tokenizer.tokenId("<s>"), 5);
  EXPECT_EQ(tokenizer.tokenId("abc"), 4);
  EXPECT_EQ(tokenizer.tokenId("abd"), std::nullopt);
  EXPECT_EQ(tokenizer.token(5), "<s>");
  EXPECT_EQ(tokenizer.token(6), std::nullopt);
  EXPECT_EQ(tokenizer.token(-1), std::nullopt);
  EXPECT_TRUE(tokenizer.isSpecial(5));
  EXPECT_FALSE(tokenizer.isSpecial(4));
  EXPECT_FALSE(tokenizer.isSpecial(1000));
}

TEST(Tokenizer, DecodesOnlyIdsThatItHas) {
  Tokenizer tokenizer = loaded(small());
  EXPECT_EQ(tokenizer.decode(Ids{0, 99, -5, 4}), "aabc");
}

TEST(Tokenizer, SpecialTokensAreSkippedOnRequest) {
  Json json = small();
  json["added_tokens"] = {{{"id", 5}, {"content", "<s>"}, {"special", true}}};
  Tokenizer tokenizer = loaded(json);
  EXPECT_EQ(tokenizer.encode("<s>ab").value(), (Ids{5, 3}));
  EXPECT_EQ(tokenizer.decode(Ids{5, 3}), "ab");
  EXPECT_EQ(tokenizer.decode(Ids{5, 3}, false), "<s>ab");
}

TEST(Tokenizer, ReadsGpt2Files) {
  Tokenizer::Files files = {
      {"vocab.json",
       R"({"a": 0, "b": 1, "\u0120": 2, "ab": 3, "\u0120ab": 4, "<|endoftext|>": 5})"},
      {"merges.txt", "#version: 0.2\r\na b\r\n\xC4\xA0 ab\r\n"}};
  Tokenizer tokenizer = Tokenizer::fromFiles(files).value();
  EXPECT_EQ(tokenizer.encode("ab ab<|endoftext|>").value(), (Ids{3, 4, 5}));
  EXPECT_EQ(tokenizer.decode(Ids{3, 4}), "ab ab");
}

TEST(Tokenizer, PrefersTokenizerJson) {
  Tokenizer::Files files = {{"tokenizer.json", small().dump()}, {"vocab.json", "broken"}};
  EXPECT_TRUE(Tokenizer::fromFiles(files));
}

/// Each piece that a stream returns must be valid by itself: Json refuses to print other strings.
TEST(StreamDecoder, NeverSplitsACharacter) {
  Json json = small();
  json["decoder"] = {{"type", "ByteFallback"}};
  json["model"]["byte_fallback"] = true;
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    snprintf(name, sizeof(name), "<0x%02X>", byte);
    json["model"]["vocab"][name] = 10 + byte;
  }
  Tokenizer tokenizer = loaded(json);
  std::string text = "a\xF0\x9F\x98\x80"
                     "b\xE2\x82\xAC";
  StreamDecoder stream(tokenizer);
  std::vector<std::string> pieces;
  Ids ids = tokenizer.encode(text).value();
  for (int32_t id : ids)
    pieces.push_back(stream.push(id));
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "", "", "", "\xF0\x9F\x98\x80", "b", "", "",
                                              "\xE2\x82\xAC"}));
  EXPECT_EQ(stream.flush(), "");
}

TEST(StreamDecoder, FlushesWhatIsIncomplete) {
  Json json = small();
  json["decoder"] = {{"type", "ByteFallback"}};
  json["model"]["vocab"]["<0xE2>"] = 5;
  Tokenizer tokenizer = loaded(json);
  StreamDecoder stream(tokenizer);
  EXPECT_EQ(stream.push(5), "");
  EXPECT_EQ(stream.push(0), "\xEF\xBF\xBD"
                            "a");
  EXPECT_EQ(stream.push(5), "");
  EXPECT_EQ(stream.flush(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.push(0), "a");
}

/// A million bytes without a place to cut must not take quadratic time.
TEST(Tokenizer, LongWordsAreFast) {
  Json json = small();
  std::string text;
  for (int i = 0; i < 1'000'000; ++i)
    text += "abc"[i * 7 % 11 % 3];
  auto begin = std::chrono::steady_clock::now();
  Ids ids = encode(json, text);
  EXPECT_EQ(loaded(json).decode(ids), text);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

/// Nor must a long run of combining marks in the wrong order, which normalization sorts.
TEST(Tokenizer, LongRunsOfMarksAreFast) {
  Json json = small();
  json["normalizer"] = {{"type", "NFC"}};
  json["model"]["vocab"]["\xCC\x81"] = 5;
  json["model"]["vocab"]["\xCC\xA3"] = 6;
  std::string text = "b";
  for (int i = 0; i < 100'000; ++i)
    text += "\xCC\x81\xCC\xA3"; // above, below; below comes first in canonical order
  auto begin = std::chrono::steady_clock::now();
  Ids ids = encode(json, text);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  ASSERT_EQ(ids.size(), 199'999u); // the first one below becomes part of U+1E05
  EXPECT_EQ(ids.front(), 6);
  EXPECT_EQ(ids.back(), 5);
}

TEST(TokenizerErrors, NoFiles) {
  expectError(Tokenizer::fromDirectory("/no/such/folder"), "has no tokenizer.json");
  expectError(Tokenizer::fromFiles({}), "neither tokenizer.json nor vocab.json");
  expectError(Tokenizer::fromFiles({{"vocab.json", "{}"}}), "neither tokenizer.json");
}

TEST(TokenizerErrors, UnreadableFile) {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("sinter-tokenizer-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "tokenizer.json") << "{\"version\": ";
  expectError(Tokenizer::fromDirectory(folder),
              (folder / "tokenizer.json").string() + ": is not JSON: wrong at byte");
  std::filesystem::remove_all(folder);
}

TEST(TokenizerErrors, TruncatedAnywhere) {
  Json json = small();
  json["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "\xE2\x96\x81"}};
  std::string text = json.dump();
  for (size_t size = 0; size < text.size(); ++size)
    ASSERT_FALSE(Tokenizer::fromFiles({{"tokenizer.json", text.substr(0, size)}})) << size;
}

TEST(TokenizerErrors, WrongShapes) {
  expectError(load(Json::array()), "is not a JSON object");
  expectError(load(Json::object()), "model is missing");
  auto with = [](const char *pointer, Json value) {
    Json json = small();
    json[Json::json_pointer(pointer)] = std::move(value);
    return load(json);
  };
  expectError(with("/version", "2.0"), "the version '2.0'");
  expectError(with("/model", 3), "model is not an object");
  expectError(with("/model/type", "Unigram"), "the tokenizer model 'Unigram' (model) is not known");
  expectError(with("/model/type", 7), "model.type is not a string");
  expectError(with("/model/vocab", Json::array()), "model.vocab is not an object");
  expectError(with("/model/vocab", Json::object()), "model.vocab has no tokens");
  expectError(with("/model/vocab/a", -1), "model.vocab has an id that is not");
  expectError(with("/model/vocab/a", 4e9), "model.vocab has an id that is not");
  expectError(with("/model/vocab/a", 4'000'000'000u), "model.vocab has an id that is not");
  expectError(with("/model/merges", "a b"), "model.merges is not a list");
  expectError(with("/model/merges/0", "a b c"), "model.merges[0] is not two tokens");
  expectError(with("/model/merges/0", {"a"}), "model.merges[0] is not a pair");
  expectError(with("/model/merges/1", {"a", "b", "c"}), "model.merges[1] is not a pair");
  expectError(with("/model/merges/1", {"a", 1}), "model.merges[1] is not a pair");
  expectError(with("/model/merges/1", {{"a", "b"}, "c"}), "model.merges[1] is not a pair");
  expectError(with("/model/merges/1", Json::object()), "model.merges[1] is not a pair");
  expectError(with("/model/merges/1", 5), "model.merges[1] is not a pair");
  expectError(with("/model/vocab/a", {{"b", 1}}), "model.vocab has an id that is not");
  expectError(with("/model/merges/0", {"a", "z"}),
              "model.merges[0] merges to or from a token that is not in");
  expectError(with("/model/merges/0", {"a", "c"}),
              "model.merges[0] merges to or from a token that is not in");
  expectError(with("/model/dropout", 0.1), "drops merges at random");
  expectError(with("/model/byte_fallback", "yes"), "model.byte_fallback is not true or false");
  expectError(with("/added_tokens", 1), "added_tokens is not a list");
  expectError(with("/added_tokens/0", {{"id", 1}}), "added_tokens[0].content is missing");
}

TEST(TokenizerErrors, UnknownParts) {
  auto with = [](const char *key, Json value) {
    Json json = small();
    json[key] = std::move(value);
    return load(json);
  };
  expectError(with("normalizer", {{"type", "Precompiled"}}), "the normalizer 'Precompiled'");
  expectError(with("normalizer", {{"kind", "NFC"}}), "normalizer.type is missing");
  expectError(with("pre_tokenizer", {{"type", "UnicodeScripts"}}),
              "the pre-tokenizer 'UnicodeScripts'");
  expectError(with("decoder", {{"type", "CTC"}}), "the decoder 'CTC'");
  expectError(with("post_processor", {{"type", "Magic"}}), "the post-processor 'Magic'");
  expectError(with("decoder", {{"type", "a\nb"}}), "the decoder 'a?b'");
  expectError(with("pre_tokenizer", {{"type", "Split"},
                                     {"pattern", {{"String", " "}}},
                                     {"behavior", "Sideways"},
                                     {"invert", false}}),
              "the split behavior 'Sideways'");
  expectError(
      with("pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {{{"type", "Digits"}}}}}),
      "pre_tokenizer.pretokenizers[0].individual_digits is missing");
  expectError(with("pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "__"}}),
              "pre_tokenizer.replacement is not one character");
  expectError(with("post_processor", {{"type", "TemplateProcessing"},
                                      {"single", {{{"SpecialToken", {{"id", "<s>"}}}}}},
                                      {"special_tokens", Json::object()}}),
              "the special token '<s>'");
  expectError(with("post_processor", {{"type", "TemplateProcessing"},
                                      {"single", {{{"Sequence", {{"id", "B"}}}}}},
                                      {"special_tokens", Json::object()}}),
              "is not the sequence A");
}

TEST(TokenizerErrors, NestedTooDeeply) {
  Json step = {{"type", "NFC"}};
  for (int i = 0; i < 100; ++i)
    step = {{"type", "Sequence"}, {"normalizers", {step}}};
  Json json = small();
  json["normalizer"] = step;
  expectError(load(json), "nests too deeply");
}

TEST(TokenizerErrors, UnknownTokenThatIsUnknown) {
  Json json = small();
  json["model"]["unk_token"] = "<unk>";
  Expected<std::vector<int32_t>> ids = loaded(json).encode("xyz");
  ASSERT_FALSE(ids);
  EXPECT_NE(ids.error().message().find("nor is the unknown token"), std::string::npos);
}

TEST(TokenizerErrors, PatternThatNeverEnds) {
  Json json = small();
  json["pre_tokenizer"] = {{"type", "Split"},
                           {"pattern", {{"Regex", "(?:a|aa)*[cd]"}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  Expected<std::vector<int32_t>> ids = loaded(json).encode(std::string(200, 'a'));
  ASSERT_FALSE(ids);
  EXPECT_NE(ids.error().message().find("a pattern of the tokenizer"), std::string::npos);
}

TEST(TokenizerErrors, Gpt2Files) {
  auto with = [](const char *vocabulary, const char *merges) {
    return Tokenizer::fromFiles({{"vocab.json", vocabulary}, {"merges.txt", merges}});
  };
  expectError(with("[", "a b"), "vocab.json: is not JSON");
  expectError(with("[]", "a b"), "vocab.json: is not a JSON object");
  expectError(with(R"({"a": "b"})", "a b"), "vocab.json: has an id that is not");
  expectError(with(R"({"a": 0})", "#version: 0.2\na b"), "merges.txt: line 2 merges to or from");
  expectError(with(R"({"a": 0})", "a"), "merges.txt: line 1 is not two tokens");
  expectError(with(R"({"a": 0})", "\n"), "merges.txt: line 1 is not two tokens");
  expectError(with(R"({"a": 0})", "#version \xFF"), "merges.txt: is not valid UTF-8");
}

} // namespace
} // namespace sinter
