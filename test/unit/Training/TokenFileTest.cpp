#include "runtime/Data/TokenCache.h"
#include "test/unit/Training/Tokens.h"
#include "test/unit/Weights/TestFiles.h"
#include <unistd.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;
using sinter::test::TemporaryDirectory;

namespace {

std::string bytesOf(const std::vector<int32_t> &ids, TokenWidth width) {
  std::vector<std::byte> packed = packTokens(ids, width);
  return {reinterpret_cast<const char *>(packed.data()), packed.size()};
}

std::vector<int32_t> readAll(const TokenFile &file) {
  std::vector<int32_t> ids(file.size());
  file.read(0, ids);
  return ids;
}

std::string errorOf(const Expected<TokenFile> &file) { return file ? "" : file.error().message(); }

TEST(TokenFile, ReadsEveryWidth) {
  TemporaryDirectory directory;
  std::vector<int32_t> ids = {0, 255, 3, 4};
  for (TokenWidth width : {TokenWidth::One, TokenWidth::Two, TokenWidth::Four}) {
    std::string path = directory.write("data.bin", bytesOf(ids, width));
    auto file = TokenFile::open(path, width, 256);
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(readAll(*file), ids);
    std::vector<int32_t> middle(2);
    file->read(1, middle);
    EXPECT_EQ(middle, (std::vector<int32_t>{255, 3}));
  }
}

TEST(TokenFile, IsLittleEndian) {
  TemporaryDirectory directory;
  std::string path = directory.write("data.bin", std::string("\x01\x02\x03\x00", 4));
  EXPECT_EQ(readAll(*TokenFile::open(path, TokenWidth::Two, 65536)),
            (std::vector<int32_t>{0x201, 3}));
  EXPECT_EQ(readAll(*TokenFile::open(path, TokenWidth::Four, 1 << 20)),
            (std::vector<int32_t>{0x30201}));
}

TEST(TokenFile, WidthFollowsTheVocabulary) {
  EXPECT_EQ(tokenWidthFor(50257), TokenWidth::Two);
  EXPECT_EQ(tokenWidthFor(65536), TokenWidth::Two);
  EXPECT_EQ(tokenWidthFor(65537), TokenWidth::Four);
}

TEST(TokenFile, RefusesAnEmptyFile) {
  TemporaryDirectory directory;
  std::string path = directory.write("data.bin", "");
  EXPECT_EQ(errorOf(TokenFile::open(path, TokenWidth::Two, 10)),
            path + ": it is empty; give a file with tokens in it");
}

TEST(TokenFile, RefusesAnOddLength) {
  TemporaryDirectory directory;
  std::string path = directory.write("data.bin", "abc");
  std::string message = errorOf(TokenFile::open(path, TokenWidth::Two, 65536));
  EXPECT_NE(message.find(path + ": its 3 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("uint16"), std::string::npos) << message;
  message = errorOf(TokenFile::open(directory.write("two.bin", "ab"), TokenWidth::Four, 1 << 17));
  EXPECT_NE(message.find("uint32"), std::string::npos) << message;
}

TEST(TokenFile, RefusesIdsBeyondTheVocabulary) {
  TemporaryDirectory directory;
  std::vector<int32_t> ids(3'000'000, 9);
  for (size_t place : {size_t(0), ids.size() / 2, ids.size() - 1}) {
    ids[place] = 10;
    std::string path = directory.write("data.bin", bytesOf(ids, TokenWidth::Two));
    std::string message = errorOf(TokenFile::open(path, TokenWidth::Two, 10));
    EXPECT_NE(message.find("the id 10, the vocabulary has the ids 0 to 9"), std::string::npos)
        << message;
    ids[place] = 9;
  }
  std::string path = directory.write("good.bin", bytesOf(ids, TokenWidth::Two));
  EXPECT_EQ(errorOf(TokenFile::open(path, TokenWidth::Two, 10)), "");
}

// More than an allocator takes from its heap, so that whole pages are looked at and left alone.
TEST(TokenFile, IdsInMemoryStayAsTheyAre) {
  std::vector<int32_t> ids(3'000'000);
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int32_t>(1 + i % 60'000);
  for (TokenWidth width : {TokenWidth::Two, TokenWidth::Four}) {
    auto file = TokenFile::fromMemory("data.bin", packTokens(ids, width), width, 65536);
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_TRUE(readAll(*file) == ids);
  }
}

TEST(TokenFile, NamesAFileThatIsAbsent) {
  EXPECT_NE(errorOf(TokenFile::open("/no/such.bin", TokenWidth::Two, 10)).find("/no/such.bin"),
            std::string::npos);
}

TEST(TokenStream, SeveralFilesAreOne) {
  std::vector<TokenFile> files;
  files.push_back(tokenFile({0, 1, 2}));
  files.push_back(tokenFile({3}));
  files.push_back(tokenFile({4, 5}));
  TokenStream stream(std::move(files));
  EXPECT_EQ(stream.size(), 6u);
  for (uint64_t begin = 0; begin < 13; ++begin)
    for (size_t count = 0; count < 15; ++count) {
      std::vector<int32_t> out(count);
      stream.read(begin, out);
      for (size_t i = 0; i < count; ++i)
        EXPECT_EQ(out[i], int32_t((begin + i) % 6)) << begin << " + " << i;
    }
}

TEST(TokenStream, PartsAreStreams) {
  TokenStream part = countingStream(10).part(3, 7).part(1, 4);
  EXPECT_EQ(part.size(), 3u);
  std::vector<int32_t> out(5);
  part.read(2, out);
  EXPECT_EQ(out, (std::vector<int32_t>{6, 4, 5, 6, 4}));
}

TEST(TokenStream, TheHashIsOfEveryIdAndOfThePart) {
  std::vector<int32_t> ids(100'000, 7);
  auto hashOf = [](std::vector<std::vector<int32_t>> contents) {
    std::vector<TokenFile> files;
    for (const std::vector<int32_t> &content : contents)
      files.push_back(tokenFile(content));
    return TokenStream(std::move(files)).getHash();
  };
  std::string hash = hashOf({ids});
  EXPECT_EQ(hashOf({ids}), hash);
  EXPECT_EQ(hash.size(), 32u);
  for (size_t place : {size_t(0), size_t(1100), ids.size() / 2 + 3, ids.size() - 1}) {
    ids[place] = 8;
    EXPECT_NE(hashOf({ids}), hash) << place;
    EXPECT_NE(hashOf({ids, {1}}), hashOf({std::vector<int32_t>(100'000, 7), {1}})) << place;
    ids[place] = 7;
  }
  TokenStream whole = countingStream(10);
  EXPECT_NE(whole.part(0, 9).getHash(), whole.getHash());
  EXPECT_NE(whole.part(0, 9).getHash(), whole.part(1, 10).getHash());
  EXPECT_EQ(whole.part(1, 9).getHash(), countingStream(10).part(1, 9).getHash());
}

TEST(TokenStream, NamesTheFileWithTooFewTokens) {
  auto enough = countingStream(10).require(10, "a step");
  EXPECT_TRUE(enough);
  auto result = countingStream(10).require(11, "a step", "give more, or a smaller `batch`");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(),
            "data.bin: there are 10 tokens, a step needs 11; give more, or a smaller `batch`");
  result = countingStream(1).require(2, "a token and its target");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(),
            "data.bin: there is 1 token, a token and its target needs 2; give more data");
}

// Gives each character's code, and counts its calls.
struct Characters {
  int calls = 0;
  Tokenize callback() {
    return [this](std::string_view text) -> Expected<std::vector<int32_t>> {
      ++calls;
      return std::vector<int32_t>(text.begin(), text.end());
    };
  }
};

TEST(TokenCache, TokenizesOnce) {
  TemporaryDirectory directory;
  std::string path = directory.write("text.txt", "abc");
  Characters characters;
  auto first = openText(path, "tokenizer", 128, characters.callback());
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_FALSE(first->fromCache);
  EXPECT_FALSE(first->notKept);
  EXPECT_EQ(readAll(first->tokens), (std::vector<int32_t>{'a', 'b', 'c'}));
  auto second = openText(path, "tokenizer", 128, characters.callback());
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->fromCache);
  EXPECT_EQ(readAll(second->tokens), readAll(first->tokens));
  EXPECT_EQ(characters.calls, 1);
}

TEST(TokenCache, AnotherTextTokenizerOrWidthIsAnotherCache) {
  TemporaryDirectory directory;
  Characters characters;
  std::string path = directory.write("text.txt", "abc");
  ASSERT_TRUE(openText(path, "tokenizer", 128, characters.callback()));
  ASSERT_FALSE(openText(path, "another", 128, characters.callback())->fromCache);
  ASSERT_FALSE(openText(path, "tokenizer", 1 << 20, characters.callback())->fromCache);
  directory.write("text.txt", "abd");
  auto changed = openText(path, "tokenizer", 128, characters.callback());
  EXPECT_FALSE(changed->fromCache);
  EXPECT_EQ(readAll(changed->tokens).back(), 'd');
  EXPECT_EQ(characters.calls, 4);
}

TEST(TokenCache, WhatDoesNotFitItsChecksumIsMadeAgain) {
  TemporaryDirectory directory;
  std::string path = directory.write("text.txt", "abcdef");
  Characters characters;
  ASSERT_TRUE(openText(path, "tokenizer", 128, characters.callback()));
  auto withExtension = [&](const std::string &extension) {
    for (const auto &entry : std::filesystem::directory_iterator(directory.path))
      if (entry.path().extension() == extension)
        return entry.path();
    return std::filesystem::path();
  };
  std::filesystem::path ids = withExtension(".bin"), checksum = withExtension(".xxh128");
  EXPECT_TRUE(isKeptForText(ids.string()));
  EXPECT_TRUE(isKeptForText(checksum.string()));
  EXPECT_FALSE(isKeptForText(path));
  struct Case {
    std::function<void()> damage;
    std::string why;
  };
  const Case cases[] = {
      {[&] { std::ofstream(ids, std::ios::in | std::ios::out).write("b", 1); },
       "its content is not what its checksum says"},
      {[&] { std::filesystem::resize_file(ids, 4); }, "its content is not what its checksum says"},
      {[&] { std::filesystem::resize_file(ids, 3); }, "its 3 bytes are no whole number"},
      {[&] { std::filesystem::resize_file(ids, 0); }, "it is empty"},
      {[&] { std::ofstream(checksum) << "0"; }, "its content is not what its checksum says"},
      {[&] { std::filesystem::remove(checksum); }, "it has no checksum beside it"}};
  for (const Case &damaged : cases) {
    damaged.damage();
    auto made = openText(path, "tokenizer", 128, characters.callback());
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_FALSE(made->fromCache);
    ASSERT_TRUE(made->damaged) << damaged.why;
    EXPECT_EQ(made->damaged->message().find(ids.string() + ": " + damaged.why), 0u)
        << made->damaged->message();
    EXPECT_EQ(readAll(made->tokens), (std::vector<int32_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
    auto kept = openText(path, "tokenizer", 128, characters.callback());
    ASSERT_TRUE(kept);
    EXPECT_TRUE(kept->fromCache);
    EXPECT_FALSE(kept->damaged);
  }
  EXPECT_EQ(characters.calls, 1 + int(std::size(cases)));
}

TEST(TokenCache, ErrorsNameTheText) {
  TemporaryDirectory directory;
  std::string empty = directory.write("empty.txt", "");
  Characters characters;
  auto result = openText(empty, "", 128, characters.callback());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), empty + ": it is empty; give a file with text in it");
  std::string path = directory.write("text.txt", "abc");
  result = openText(path, "", 99, characters.callback());
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("gives the id 99, the vocabulary has the ids 0 to 98"),
            std::string::npos);
  result = openText(path, "", 128, [](std::string_view) -> Expected<std::vector<int32_t>> {
    return fail("tokenizer", "no", "");
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "tokenizer: no");
}

TEST(TokenCache, WorksWhereItCannotBeWritten) {
  TemporaryDirectory directory;
  // So long a name leaves no room for the hash.
  std::string path = directory.write(std::string(250, 'x'), "abc");
  Characters characters;
  auto result = openText(path, "", 128, characters.callback());
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_TRUE(result->notKept);
  EXPECT_NE(result->notKept->message().find("cannot be written"), std::string::npos);
  EXPECT_EQ(readAll(result->tokens), (std::vector<int32_t>{'a', 'b', 'c'}));
}

} // namespace
