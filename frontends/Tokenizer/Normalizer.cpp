//===- Normalizer.cpp - Rewriting text before it is cut ------------------===//

#include "frontends/Tokenizer/Normalizer.h"

#include "frontends/Tokenizer/ByteLevel.h"
#include "frontends/Tokenizer/Pieces.h"
#include "frontends/Tokenizer/Unicode.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utf8proc.h>

namespace sinter::tokenizer {

namespace {

/// Rewrites character by character: `f(c, out)` appends what becomes of `c`.
template <typename F> std::string mapCharacters(std::string_view text, F f) {
  std::string mapped;
  mapped.reserve(text.size());
  for (size_t i = 0; i < text.size();)
    f(decodeUtf8(text, i), mapped);
  return mapped;
}

/// As above; what becomes nothing at the start of the text sets `lostStart`.
template <typename F> void mapOrDrop(std::string &text, bool &lostStart, F f) {
  bool first = true;
  text = mapCharacters(text, [&](char32_t c, std::string &out) {
    size_t before = out.size();
    f(c, out);
    lostStart |= first && out.size() == before;
    first = false;
  });
}

/// Appends a normalization form of `text`.
void appendForm(std::string &out, std::string_view text, utf8proc_option_t form) {
  utf8proc_uint8_t *mapped = nullptr;
  auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | form);
  utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &mapped, options);
  // utf8proc refuses only invalid UTF-8 and texts that do not fit into memory.
  if (size < 0)
    out.append(text);
  else
    out.append(reinterpret_cast<const char *>(mapped), static_cast<size_t>(size));
  std::free(mapped);
}

/// The characters of `text` taken apart, with combining marks in canonical order. utf8proc orders
/// them by a sort that is quadratic in the length of a run of marks, and linear on ordered ones.
std::string orderMarks(std::string_view text, utf8proc_option_t form) {
  auto options = static_cast<utf8proc_option_t>(form | UTF8PROC_DECOMPOSE);
  struct Character {
    utf8proc_int32_t c;
    utf8proc_propval_t order;
    size_t place;
  };
  std::vector<Character> characters;
  for (size_t i = 0; i < text.size();) {
    utf8proc_int32_t parts[32];
    int boundary = 0;
    utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(decodeUtf8(text, i)), parts,
                                std::size(parts), options, &boundary);
    for (utf8proc_ssize_t k = 0; k < count; ++k)
      characters.push_back(
          {parts[k], utf8proc_get_property(parts[k])->combining_class, characters.size()});
  }
  for (auto at = characters.begin(); at != characters.end();) {
    auto isMark = [](const Character &character) { return character.order != 0; };
    auto begin = std::find_if(at, characters.end(), isMark);
    at = std::find_if_not(begin, characters.end(), isMark);
    std::sort(begin, at, [](const Character &a, const Character &b) {
      return std::pair(a.order, a.place) < std::pair(b.order, b.place);
    });
  }
  std::string ordered;
  for (const Character &character : characters)
    appendUtf8(ordered, static_cast<char32_t>(character.c));
  return ordered;
}

/// Appends a normalization form of a stretch in which characters that are to stay whole cut parts.
void appendStretch(std::string &out, std::string_view text, utf8proc_option_t form) {
  constexpr size_t kManyMarks = 64;
  size_t from = 0, marks = 0, mostMarks = 0;
  auto flush = [&](size_t end) {
    std::string_view part = text.substr(from, end - from);
    if (mostMarks > kManyMarks)
      appendForm(out, orderMarks(part, form), form);
    else
      appendForm(out, part, form);
    marks = mostMarks = 0;
  };
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    char32_t c = decodeUtf8(text, i);
    marks =
        utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class ? marks + 1 : 0;
    mostMarks = std::max(mostMarks, marks);
    if (!isNormalizationAtom(c))
      continue;
    flush(begin);
    out.append(text.substr(begin, i - begin));
    from = i;
  }
  flush(text.size());
}

/// A normalization form of `text`. ASCII is left as it is; only its last character before others
/// takes part, since it may combine with them.
std::string normalForm(std::string_view text, utf8proc_option_t form) {
  std::string out;
  out.reserve(text.size());
  auto ascii = [&](size_t i) { return static_cast<unsigned char>(text[i]) < 0x80; };
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    while (i < text.size() && ascii(i))
      ++i;
    if (i == text.size()) {
      out.append(text.substr(begin));
      break;
    }
    size_t other = i > begin ? i - 1 : i;
    out.append(text.substr(begin, other - begin));
    while (i < text.size() && !ascii(i))
      ++i;
    appendStretch(out, text.substr(other, i - other), form);
  }
  return out;
}

class UnicodeForm : public Normalizer {
public:
  explicit UnicodeForm(int options) : options(static_cast<utf8proc_option_t>(options)) {}
  Expected<void> apply(std::string &text, bool &) const override {
    text = normalForm(text, options);
    return {};
  }

private:
  utf8proc_option_t options;
};

class Lowercase : public Normalizer {
public:
  Expected<void> apply(std::string &text, bool &) const override {
    text = mapCharacters(text, [](char32_t c, std::string &out) { appendLowercase(out, c); });
    return {};
  }
};

class Strip : public Normalizer {
public:
  Strip(bool left, bool right) : left(left), right(right) {}
  Expected<void> apply(std::string &text, bool &lostStart) const override {
    size_t begin = 0, end = text.size();
    while (right && end > 0) {
      size_t i = end;
      if (!isWhitespace(decodeUtf8Before(text, i)))
        break;
      end = i;
    }
    while (left && begin < end) {
      size_t i = begin;
      if (!isWhitespace(decodeUtf8(text, i)))
        break;
      begin = i;
    }
    lostStart |= begin > 0;
    text = text.substr(begin, end - begin);
    return {};
  }

private:
  bool left, right;
};

class StripAccents : public Normalizer {
public:
  Expected<void> apply(std::string &text, bool &lostStart) const override {
    mapOrDrop(text, lostStart, [](char32_t c, std::string &out) {
      if (!isMark(c))
        appendUtf8(out, c);
    });
    return {};
  }
};

/// The cleaning that Google's NMT models were trained with.
class Nmt : public Normalizer {
public:
  Expected<void> apply(std::string &text, bool &lostStart) const override {
    mapOrDrop(text, lostStart, [](char32_t c, std::string &out) {
      bool control = (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
                     c == 0x8F || c == 0x9F;
      bool space = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                   (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                   c == 0xFEFF || c == 0xFFFD;
      if (!control)
        appendUtf8(out, space ? U' ' : c);
    });
    return {};
  }
};

class Prepend : public Normalizer {
public:
  explicit Prepend(std::string prefix) : prefix(std::move(prefix)) {}
  Expected<void> apply(std::string &text, bool &) const override {
    if (!text.empty())
      text.insert(0, prefix);
    return {};
  }

private:
  std::string prefix;
};

class Replace : public Normalizer {
public:
  Replace(Pattern pattern, std::string content)
      : pattern(std::move(pattern)), content(std::move(content)) {}
  Expected<void> apply(std::string &text, bool &lostStart) const override {
    std::string replaced;
    replaced.reserve(text.size());
    size_t from = 0;
    SINTER_CHECK(pattern.forEachMatch(text, [&](size_t begin, size_t end) {
      if (begin == 0 && end > 0)
        lostStart |= content.empty() || end > utf8Length(static_cast<unsigned char>(text[0]));
      replaced.append(text, from, begin - from);
      replaced += content;
      from = end;
    }));
    replaced.append(text, from);
    text = std::move(replaced);
    return {};
  }

private:
  Pattern pattern;
  std::string content;
};

class ByteLevel : public Normalizer {
public:
  Expected<void> apply(std::string &text, bool &) const override {
    std::string mapped;
    mapped.reserve(text.size() * 3 / 2);
    appendBytesAsCharacters(mapped, text);
    text = std::move(mapped);
    return {};
  }
};

class Bert : public Normalizer {
public:
  Bert(bool clean, bool chinese, bool accents, bool lowercase)
      : clean(clean), chinese(chinese), accents(accents), lowercase(lowercase) {}

  Expected<void> apply(std::string &text, bool &lostStart) const override {
    if (clean)
      mapOrDrop(text, lostStart, [](char32_t c, std::string &out) {
        bool space = isWhitespace(c);
        bool control = isControlOrPrivate(c) && c != '\t' && c != '\n' && c != '\r';
        if (c != 0 && c != 0xFFFD && !control)
          appendUtf8(out, space ? U' ' : c);
      });
    if (chinese)
      text = mapCharacters(text, [](char32_t c, std::string &out) {
        bool spaced = isChinese(c);
        out += spaced ? " " : "";
        appendUtf8(out, c);
        out += spaced ? " " : "";
      });
    if (accents) {
      text = normalForm(text, UTF8PROC_DECOMPOSE);
      mapOrDrop(text, lostStart, [](char32_t c, std::string &out) {
        if (!isNonspacingMark(c))
          appendUtf8(out, c);
      });
    }
    if (lowercase)
      text = mapCharacters(text, [](char32_t c, std::string &out) { appendLowercase(out, c); });
    return {};
  }

private:
  static bool isChinese(char32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
           (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
  }

  bool clean, chinese, accents, lowercase;
};

class Sequence : public Normalizer {
public:
  explicit Sequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps(std::move(steps)) {}
  Expected<void> apply(std::string &text, bool &lostStart) const override {
    for (const auto &step : steps)
      SINTER_CHECK(step->apply(text, lostStart));
    return {};
  }

private:
  std::vector<std::unique_ptr<Normalizer>> steps;
};

} // namespace

Expected<std::unique_ptr<Normalizer>> readNormalizer(const Reader &reader, int depth) {
  SINTER_TRY(std::string type, reader.string("type"));
  if (type == "NFC")
    return std::make_unique<UnicodeForm>(UTF8PROC_COMPOSE);
  if (type == "NFD")
    return std::make_unique<UnicodeForm>(UTF8PROC_DECOMPOSE);
  if (type == "NFKC")
    return std::make_unique<UnicodeForm>(UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
  if (type == "NFKD")
    return std::make_unique<UnicodeForm>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  if (type == "Lowercase")
    return std::make_unique<Lowercase>();
  if (type == "StripAccents")
    return std::make_unique<StripAccents>();
  if (type == "Nmt")
    return std::make_unique<Nmt>();
  if (type == "ByteLevel")
    return std::make_unique<ByteLevel>();
  if (type == "Strip") {
    SINTER_TRY(bool left, reader.boolean("strip_left"));
    SINTER_TRY(bool right, reader.boolean("strip_right"));
    return std::make_unique<Strip>(left, right);
  }
  if (type == "Prepend") {
    SINTER_TRY(std::string prefix, reader.string("prepend"));
    return std::make_unique<Prepend>(std::move(prefix));
  }
  if (type == "Replace") {
    SINTER_TRY(Pattern pattern, Pattern::read(reader, "pattern"));
    SINTER_TRY(std::string content, reader.string("content"));
    return std::make_unique<Replace>(std::move(pattern), std::move(content));
  }
  if (type == "BertNormalizer") {
    SINTER_TRY(bool clean, reader.boolean("clean_text"));
    SINTER_TRY(bool chinese, reader.boolean("handle_chinese_chars"));
    SINTER_TRY(bool lowercase, reader.boolean("lowercase"));
    SINTER_TRY(bool accents, reader.boolean("strip_accents", lowercase));
    return std::make_unique<Bert>(clean, chinese, accents, lowercase);
  }
  if (type == "Sequence") {
    SINTER_TRY(auto steps, reader.sequence("normalizers", depth, readNormalizer));
    return std::make_unique<Sequence>(std::move(steps));
  }
  return reader.unknown("the normalizer", type);
}

} // namespace sinter::tokenizer
