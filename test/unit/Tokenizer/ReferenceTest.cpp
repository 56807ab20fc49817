// Sinter's ids and texts against those of Hugging Face's library, as recorded in expected.json by
// tools/dev/make_tokenizer_fixtures.py.

#include "frontends/Tokenizer/Tokenizer.h"
#include "test/unit/Tokenizer/MixedText.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sinter {

using test::Hash;

namespace {

const std::string kFolder = SINTER_TOKENIZER_TESTS;

const nlohmann::json &expected() {
  static const nlohmann::json json =
      nlohmann::json::parse(test::readFile(kFolder + "/expected.json"));
  return json;
}

const std::string &mixedText() {
  static const std::string text =
      test::makeMixedText(test::readSamples(kFolder + "/samples.txt"), 1'000'000);
  return text;
}

std::string hashOf(const std::vector<int32_t> &ids) {
  Hash hash;
  for (int32_t id : ids)
    for (int shift = 0; shift < 32; shift += 8)
      hash.add(static_cast<unsigned char>(id >> shift));
  return hash.hex();
}

std::string hashOf(std::string_view text) {
  Hash hash;
  hash.add(text);
  return hash.hex();
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const auto &[name, value] : expected()["tokenizers"].items())
    names.push_back(name);
  return names;
}

class ReferenceTest : public testing::TestWithParam<std::string> {
protected:
  Tokenizer load() {
    Expected<Tokenizer> tokenizer = Tokenizer::fromDirectory(kFolder + "/fixtures/" + GetParam());
    EXPECT_TRUE(tokenizer) << tokenizer.error().message();
    return *tokenizer;
  }
  const nlohmann::json &want() { return expected()["tokenizers"][GetParam()]; }
  std::string wantText(const char *key) { return want()[key].get<std::string>(); }
};

TEST(MixedText, IsTheTextThatTheReferenceSaw) {
  EXPECT_EQ(mixedText().size(), expected()["mixed_bytes"].get<size_t>());
  EXPECT_EQ(hashOf(mixedText()), expected()["mixed_hash"].get<std::string>());
}

TEST_P(ReferenceTest, Cases) {
  Tokenizer tokenizer = load();
  EXPECT_EQ(tokenizer.getVocabSize(), want()["vocabulary"].get<int32_t>());
  const nlohmann::json &cases = expected()["cases"];
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string text = cases[i];
    std::vector<int32_t> ids = tokenizer.encode(text).value();
    EXPECT_EQ(ids, want()["cases"][i].get<std::vector<int32_t>>()) << '"' << text << '"';
    EXPECT_EQ(tokenizer.decode(ids), want()["texts"][i].get<std::string>()) << '"' << text << '"';
  }
  EXPECT_EQ(tokenizer.encode("Hello", false).value(),
            want()["no_special"].get<std::vector<int32_t>>());
}

TEST_P(ReferenceTest, MixedText) {
  Tokenizer tokenizer = load();
  std::vector<int32_t> ids = tokenizer.encode(mixedText()).value();
  EXPECT_EQ(ids.size(), want()["mixed_ids"].get<size_t>());
  EXPECT_EQ(hashOf(ids), wantText("mixed_ids_hash"));
  EXPECT_EQ(hashOf(tokenizer.decode(ids, false)), wantText("mixed_text_hash"));
  EXPECT_EQ(hashOf(tokenizer.decode(ids, true)), wantText("mixed_skipped_hash"));
}

TEST_P(ReferenceTest, StreamGivesTheSameText) {
  Tokenizer tokenizer = load();
  std::vector<int32_t> ids = tokenizer.encode(mixedText().substr(0, 100'000)).value();
  for (bool skipSpecial : {false, true}) {
    StreamDecoder stream(tokenizer, skipSpecial);
    std::string text;
    for (int32_t id : ids)
      text += stream.push(id);
    text += stream.flush();
    EXPECT_EQ(text, tokenizer.decode(ids, skipSpecial));
  }
}

/// Patterns that take back what they matched do so over the whole run, and must be let.
TEST_P(ReferenceTest, LongRunsOfOneCharacter) {
  Tokenizer tokenizer = load();
  for (char c : {' ', '\n', 'a', 'A', '1', '!'}) {
    Expected<std::vector<int32_t>> ids = tokenizer.encode(std::string(500'000, c) + "b");
    EXPECT_TRUE(ids) << ids.error().message();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceTest, testing::ValuesIn(names()),
                         [](const auto &info) { return info.param; });

// Files that only some machines have: ../shared beside the project.

class SharedTest : public testing::Test {
protected:
  std::string folder(const std::string &name) {
    std::string path = std::string(SINTER_SHARED) + "/" + name;
    return std::filesystem::is_directory(path) ? path : "";
  }
};

TEST_F(SharedTest, Gpt2) {
  std::string path = folder("tokenizers/gpt2");
  if (path.empty())
    GTEST_SKIP() << SINTER_SHARED "/tokenizers/gpt2 is not present";
  Expected<Tokenizer> tokenizer = Tokenizer::fromDirectory(path);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  EXPECT_EQ(tokenizer->getVocabSize(), 50257);
  EXPECT_EQ(tokenizer->tokenId("<|endoftext|>"), 50256);
  EXPECT_EQ(tokenizer->encode("Hello world<|endoftext|>").value(),
            (std::vector<int32_t>{15496, 995, 50256}));
  std::vector<int32_t> ids = tokenizer->encode(mixedText()).value();
  EXPECT_EQ(ids.size(), 490560u);
  EXPECT_EQ(hashOf(ids), "5f622b16d032b9b4");
}

TEST_F(SharedTest, Stories260k) {
  std::string path = folder("models/stories260k");
  if (path.empty())
    GTEST_SKIP() << SINTER_SHARED "/models/stories260k is not present";
  Expected<Tokenizer> tokenizer = Tokenizer::fromDirectory(path);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  EXPECT_EQ(tokenizer->getVocabSize(), 512);
  std::vector<int32_t> ids = tokenizer->encode(mixedText()).value();
  EXPECT_EQ(ids.size(), 811778u);
  EXPECT_EQ(hashOf(ids), "1ea07c552050ce22");

  nlohmann::json story = nlohmann::json::parse(test::readFile(path + "/expected.json"));
  auto greedy = story["greedy_ids"].get<std::vector<int32_t>>();
  EXPECT_EQ(tokenizer->decode(greedy), story["greedy_text"].get<std::string>());
}

} // namespace
} // namespace sinter
