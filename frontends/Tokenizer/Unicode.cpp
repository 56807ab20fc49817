//===- Unicode.cpp - UTF-8 and the character classes tokenizers ask for --===//

#include "frontends/Tokenizer/Unicode.h"

#include <algorithm>
#include <iterator>
#include <utf8proc.h>

namespace sinter::tokenizer {

char32_t decodeUtf8(std::string_view text, size_t &position) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[position + i]); };
  char32_t c = byte(0);
  size_t length = utf8Length(byte(0));
  switch (length) {
  case 2:
    c = (c & 0x1F) << 6 | (byte(1) & 0x3Fu);
    break;
  case 3:
    c = (c & 0x0F) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    break;
  case 4:
    c = (c & 0x07) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
    break;
  default:
    break;
  }
  position += length;
  return c;
}

char32_t decodeUtf8Before(std::string_view text, size_t &position) {
  do
    --position;
  while ((static_cast<unsigned char>(text[position]) & 0xC0) == 0x80);
  size_t start = position;
  return decodeUtf8(text, start);
}

void appendUtf8(std::string &text, char32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | c >> 6);
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | c >> 12);
    text += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | c >> 18);
    text += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    text += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (c & 0x3F));
  }
}

std::string repairUtf8(std::string_view text) {
  std::string repaired;
  size_t position = 0;
  while (position < text.size()) {
    size_t length;
    bool truncated;
    size_t broken = findBrokenUtf8(text, position, length, truncated);
    repaired.append(text.substr(position, broken - position));
    if (broken < text.size())
      repaired += kReplacementCharacter;
    position = broken + length;
  }
  return repaired;
}

size_t incompleteUtf8Tail(std::string_view text) {
  for (size_t tail = 1; tail <= 3 && tail <= text.size(); ++tail) {
    unsigned char byte = static_cast<unsigned char>(text[text.size() - tail]);
    if ((byte & 0xC0) == 0x80)
      continue;
    size_t length;
    bool truncated;
    findBrokenUtf8(text, text.size() - tail, length, truncated);
    return truncated && length == tail ? tail : 0;
  }
  return 0;
}

size_t countUtf8(std::string_view text) {
  size_t count = 0;
  for (unsigned char byte : text)
    count += (byte & 0xC0) != 0x80;
  return count;
}

bool isWhitespace(char32_t c) {
  if (c < 0x80)
    return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static constexpr UnicodeUpdate kUpdates[] = {
#include "frontends/Tokenizer/UnicodeUpdates.inc"
};

std::span<const UnicodeUpdate> unicodeUpdates() { return kUpdates; }

/// The general category, as its two letters ("Lu").
static std::string_view category(char32_t c) {
  std::string_view known = utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
  if (known != "Cn")
    return known;
  const auto *it = std::upper_bound(std::begin(kUpdates), std::end(kUpdates), c,
                                    [](char32_t c, const UnicodeUpdate &u) { return c <= u.last; });
  return it != std::end(kUpdates) && c >= it->first ? it->category : known;
}

namespace {

struct Range {
  char32_t first, last;
};

/// Capitals whose lower case is `distance` further on.
struct Shift {
  char32_t first, last;
  int32_t distance;
};

#include "frontends/Tokenizer/UnicodeReference.inc"

/// The range of a sorted list that has `c`, or null.
template <typename R> const R *findRange(std::span<const R> ranges, char32_t c) {
  auto it = std::lower_bound(ranges.begin(), ranges.end(), c,
                             [](const R &range, char32_t c) { return range.last < c; });
  return it != ranges.end() && c >= it->first ? &*it : nullptr;
}

bool in(std::span<const Range> ranges, char32_t c) { return findRange(ranges, c) != nullptr; }

} // namespace

bool isNumeric(char32_t c) {
  return c < 0x80 ? c >= '0' && c <= '9' : (category(c)[0] == 'N') != in(kNumeric, c);
}

bool isPunctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  return (category(c)[0] == 'P') != in(kPunctuation, c);
}

bool isNonspacingMark(char32_t c) { return (category(c) == "Mn") != in(kNonspacingMark, c); }

bool isMark(char32_t c) { return (category(c)[0] == 'M') != in(kMark, c); }

bool isControlOrPrivate(char32_t c) {
  std::string_view known = category(c);
  return (known == "Cc" || known == "Cf" || known == "Co") != in(kOther, c);
}

bool isNormalizationAtom(char32_t c) { return in(kAtoms, c); }

void appendLowercase(std::string &text, char32_t c) {
  if (c < 0x80)
    text += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  else if (c == 0x130) // the one character whose lower case is two
    text += "i\xCC\x87";
  else if (const Shift *shift = findRange(std::span<const Shift>(kLowercase), c))
    appendUtf8(text, c + static_cast<char32_t>(shift->distance));
  else
    appendUtf8(text, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

} // namespace sinter::tokenizer
