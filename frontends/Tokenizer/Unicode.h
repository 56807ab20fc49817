//===- Unicode.h - UTF-8 and the character classes tokenizers ask for ----===//
//
// Text enters as bytes and may be broken. It is repaired once, at the door (`repairUtf8`), and
// everything behind it may assume valid UTF-8: the decoder below does no checking of its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Utf8.h"
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sinter::tokenizer {

/// U+FFFD, what a byte sequence that is no character becomes.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// The length in bytes of the character that starts with `lead`, a lead byte of valid UTF-8.
inline size_t utf8Length(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/// The code point at `position` of valid UTF-8; moves `position` behind it.
char32_t decodeUtf8(std::string_view text, size_t &position);

/// The code point that ends right before `position` (> 0) of valid UTF-8; moves `position` to its
/// first byte.
char32_t decodeUtf8Before(std::string_view text, size_t &position);

/// Appends a code point as UTF-8.
void appendUtf8(std::string &text, char32_t codePoint);

/// `text` with U+FFFD in the place of each broken part.
std::string repairUtf8(std::string_view text);

/// How many bytes at the end of `text` may still become a character when more bytes follow (0-3).
size_t incompleteUtf8Tail(std::string_view text);

/// The number of characters in valid UTF-8.
size_t countUtf8(std::string_view text);

/// Unicode's White_Space.
bool isWhitespace(char32_t c);

// The classes below are by general category, except for some rare characters of which the
// reference implementation knows no better (UnicodeReference.inc): the same ids need the same
// tables.

/// General category N (decimal digits, letter numbers, other numbers).
bool isNumeric(char32_t c);

/// General category P, or ASCII punctuation (which includes symbols such as '$').
bool isPunctuation(char32_t c);

/// General category Mn.
bool isNonspacingMark(char32_t c);

/// General category M.
bool isMark(char32_t c);

/// General categories Cc, Cf and Co.
bool isControlOrPrivate(char32_t c);

/// Whether normalization leaves `c` as it is although newer Unicode takes it apart.
bool isNormalizationAtom(char32_t c);

/// A run of characters of one general category that the libraries may be too old to know.
struct UnicodeUpdate {
  char32_t first, last;
  const char *category; ///< two letters
};

/// The characters of Unicode 15 and 16, in order: Debian 12's PCRE2 ends at 14, its utf8proc at 15.
std::span<const UnicodeUpdate> unicodeUpdates();

/// Appends the lower case of `c`, which may be more than one character.
void appendLowercase(std::string &text, char32_t c);

} // namespace sinter::tokenizer
