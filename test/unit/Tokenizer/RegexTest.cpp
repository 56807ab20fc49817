// Patterns written for Oniguruma must mean the same on PCRE2, or be refused.

#include "frontends/Tokenizer/Regex.h"

#include <gtest/gtest.h>
#include <vector>

namespace sinter::tokenizer {
namespace {

std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  Expected<Regex> regex = Regex::compile(pattern);
  EXPECT_TRUE(regex) << regex.error().message();
  std::vector<std::string> found;
  EXPECT_TRUE(regex->forEachMatch(text, [&](size_t begin, size_t end) {
    found.emplace_back(text.substr(begin, end - begin));
  }));
  return found;
}

using Strings = std::vector<std::string>;

TEST(Regex, MatchesLeftToRight) {
  EXPECT_EQ(matches("\\p{L}+|\\p{N}{1,3}", "ab1234c"), (Strings{"ab", "123", "4", "c"}));
  EXPECT_EQ(matches("", "ab"), (Strings{"", "", ""}));
  EXPECT_EQ(matches("a*", "baac"), (Strings{"", "aa", ""}));
}

TEST(Regex, PlusBehindAnIntervalRepeatsIt) {
  EXPECT_EQ(matches("\\d{1,3}+", "1234567"), (Strings{"1234567"}));
  EXPECT_EQ(matches("a{2}?", "aaa"), (Strings{"aa", ""})); // none or two
  EXPECT_EQ(matches("a{1,2}?", "aa"), (Strings{"a", "a"}));
  EXPECT_EQ(matches("a{,2}b", "aab"), (Strings{"aab"}));
  EXPECT_EQ(matches("a++a", "aa"), Strings{});
  EXPECT_EQ(matches("(?:ab)+{2}", "abab"), (Strings{"abab"}));
  EXPECT_EQ(matches("a{x}", "a{x}"), (Strings{"a{x}"}));
}

TEST(Regex, SpaceIsUnicodesWhiteSpace) {
  EXPECT_EQ(matches("\\s", "a\xE1\xA0\x8E\xC2\x85\xE2\x80\x8B\xE3\x80\x80\v"),
            (Strings{"\xC2\x85", "\xE3\x80\x80", "\v"}));
  EXPECT_EQ(matches("\\S", "\xE1\xA0\x8E "), (Strings{"\xE1\xA0\x8E"}));
  EXPECT_EQ(matches("[^\\S\\n]+", "\xE1\xA0\x8E \n\t"), (Strings{" ", "\t"}));
}

TEST(Regex, WordHasMarks) {
  EXPECT_EQ(matches("\\w+", "e\xCC\x81_1-b"), (Strings{"e\xCC\x81_1", "b"}));
  EXPECT_EQ(matches("\\bb", "e\xCC\x81"
                            "b b"),
            (Strings{"b"}));
}

TEST(Regex, HexDigitsAndVerticalTab) {
  EXPECT_EQ(matches("\\h+", "xyzBEEF!"), (Strings{"BEEF"}));
  EXPECT_EQ(matches("\\v", "\v\n"), (Strings{"\v"}));
}

TEST(Regex, ClassesNestAndRange) {
  EXPECT_EQ(matches("[a[0-9]\\-z]+", "a5-zb"), (Strings{"a5-z"}));
  EXPECT_EQ(matches("[\\s-x]+", " -xa"), (Strings{" -x"}));
  EXPECT_EQ(matches("[]a]", "]"), (Strings{"]"}));
  EXPECT_EQ(matches("[[:digit:]a]+", "1a"), (Strings{"1a"}));
  EXPECT_EQ(matches("[\\x{4e00}-\\u9fff]+", "a\xE5\xA4\xA9"), (Strings{"\xE5\xA4\xA9"}));
}

TEST(Regex, ClassesIntersectAndExclude) {
  EXPECT_EQ(matches("[a-e&&c-z]+", "abcdef"), (Strings{"cde"}));
  EXPECT_EQ(matches("[\\p{L}&&[^\\p{Han}]]+", "ab\xE6\xBC\xA2\xC3\xA9"),
            (Strings{"ab", "\xC3\xA9"}));
  EXPECT_EQ(matches("[^a-e&&c-z]+", "abcdef"), (Strings{"ab", "f"}));
  EXPECT_EQ(matches("[a-z&&[^aeiou]&&[a-m]]+", "abcmnz"), (Strings{"bcm"}));
  EXPECT_EQ(matches("[x[^a-z]]+", "xa1b"), (Strings{"x", "1"}));
  EXPECT_EQ(matches("[\\Wb]+", "ab -c"), (Strings{"b -"}));
  EXPECT_EQ(matches("[^\\W\\d]+", "a1 b"), (Strings{"a", "b"}));
  EXPECT_EQ(matches("[\\P{L}a]+", "ab1"), (Strings{"a", "1"}));
  EXPECT_EQ(matches("[^\\n&&\\s]", " \n"), (Strings{" "}));
}

TEST(Regex, FlagsAndGroups) {
  EXPECT_EQ(matches("(?i:'S|'t)", "'s 'T"), (Strings{"'s", "'T"}));
  EXPECT_EQ(matches("(?i)ab|c", "AB C"), (Strings{"AB", "C"}));
  EXPECT_EQ(matches("(?i:a)\\p{Lu}|(?i:b(?-i:\\p{Ll}))", "AA Bb BB"), (Strings{"AA", "Bb"}));
  EXPECT_EQ(matches("(?>..+|b?)e", "zef"), Strings{});
  EXPECT_EQ(matches("(?m:a.b)", "a\nb"), (Strings{"a\nb"}));
  EXPECT_EQ(matches("a.b", "a\nb"), Strings{});
  EXPECT_EQ(matches("^a$", "b\na\nb"), (Strings{"a"}));
  EXPECT_EQ(matches("(?<name>a)(b)(?#no)", "ab"), (Strings{"ab"}));
}

TEST(Regex, PropertiesByLongName) {
  EXPECT_EQ(matches("\\p{Letter}\\p{^Letter}\\P{Number}", "a1b"), (Strings{"a1b"}));
  EXPECT_EQ(matches("\\p{Han}+", "x\xE6\xBC\xA2\xE5\xAD\x97"),
            (Strings{"\xE6\xBC\xA2\xE5\xAD\x97"}));
}

TEST(RegexErrors, NamesWhatIsNotSupported) {
  auto expectError = [](std::string_view pattern, const std::string &part) {
    Expected<Regex> regex = Regex::compile(pattern);
    ASSERT_FALSE(regex) << pattern;
    EXPECT_NE(regex.error().message().find(part), std::string::npos) << regex.error().message();
    EXPECT_EQ(regex.error().message().find('\n'), std::string::npos);
  };
  expectError("[&&b]", "nothing on its left");
  expectError("[a&&]", "nothing on its right");
  expectError("(a)\\1", "the escape '\\1'");
  expectError("\\K", "the escape '\\K'");
  expectError("(?i)a\\p{Lu}", "under (?i)");
  expectError("(?i:(a[[:upper:]]))", "under (?i)");
  expectError("(?x: a)", "'(?...'");
  expectError("(?~a)", "'(?...'");
  expectError("(a", "not closed");
  expectError("a)", "closes no group");
  expectError("[a", "not closed");
  expectError("*a", "nothing to repeat");
  expectError("\\", "ends in '\\'");
  expectError("\\p{NoSuchScript}", "unknown property");
  expectError("\\xff", "names a byte");
  expectError("\\x{d800}", "no character");
  expectError("[b-a]", "backwards");
  expectError("\xFF\n", "not valid UTF-8");
  expectError(std::string(200, '('), "nest too deeply");
}

} // namespace
} // namespace sinter::tokenizer
