// Broken UTF-8 is repaired as Python's errors='replace' does it.

#include "frontends/Tokenizer/Unicode.h"

#include <gtest/gtest.h>

namespace sinter::tokenizer {
namespace {

std::string repaired(std::string_view text) {
  std::string shown;
  std::string result = repairUtf8(text);
  for (size_t at; (at = result.find(kReplacementCharacter)) != std::string::npos;)
    result.replace(at, 3, "?");
  return result;
}

TEST(Unicode, RepairsByLongestPossiblePrefix) {
  EXPECT_EQ(repaired("abc"), "abc");
  EXPECT_EQ(repaired("a\xFF"
                     "b"),
            "a?b");
  EXPECT_EQ(repaired("\xE2\x82"), "?");
  EXPECT_EQ(repaired("\xE2\x82"
                     "a"),
            "?a");
  EXPECT_EQ(repaired("\xE2\x28\xA1"), "?(?");
  EXPECT_EQ(repaired("\xF0\x9F\x98"), "?");
  EXPECT_EQ(repaired("\xF0\x9F\x98\xF0\x9F"), "??");
  EXPECT_EQ(repaired("\xC0\x80"), "??");           // overlong
  EXPECT_EQ(repaired("\xE0\x80\x80"), "???");      // overlong
  EXPECT_EQ(repaired("\xED\xA0\x80"), "???");      // a surrogate
  EXPECT_EQ(repaired("\xF4\x90\x80\x80"), "????"); // past the last code point
  EXPECT_EQ(repaired("\x80\x80"), "??");
}

TEST(Unicode, FindsIncompleteTails) {
  EXPECT_EQ(incompleteUtf8Tail(""), 0u);
  EXPECT_EQ(incompleteUtf8Tail("a"), 0u);
  EXPECT_EQ(incompleteUtf8Tail("a\xE2"), 1u);
  EXPECT_EQ(incompleteUtf8Tail("a\xE2\x82"), 2u);
  EXPECT_EQ(incompleteUtf8Tail("a\xE2\x82\xAC"), 0u);
  EXPECT_EQ(incompleteUtf8Tail("\xF0\x9F\x98"), 3u);
  EXPECT_EQ(incompleteUtf8Tail("\x80\x80\x80"), 0u);
  EXPECT_EQ(incompleteUtf8Tail("\xFF"), 0u);
  EXPECT_EQ(incompleteUtf8Tail("\xED\xA0"), 0u);
}

TEST(Unicode, EncodesAndDecodesEveryCodePoint) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000)
      continue;
    std::string text;
    appendUtf8(text, c);
    size_t position = 0;
    ASSERT_EQ(decodeUtf8(text, position), c);
    ASSERT_EQ(position, text.size());
    ASSERT_EQ(decodeUtf8Before(text, position), c);
    ASSERT_TRUE(isValidUtf8(text));
  }
}

} // namespace
} // namespace sinter::tokenizer
