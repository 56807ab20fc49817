//===- PreTokenizer.cpp - Cutting text into words ------------------------===//

#include "frontends/Tokenizer/PreTokenizer.h"

#include "frontends/Tokenizer/ByteLevel.h"
#include "frontends/Tokenizer/Unicode.h"

namespace sinter::tokenizer {

namespace {

/// Cuts at what `find` finds.
class Split : public PreTokenizer {
public:
  Split(Finder find, SplitBehavior behavior) : find(std::move(find)), behavior(behavior) {}
  Expected<void> apply(Pieces &pieces) const override { return split(pieces, find, behavior); }

private:
  Finder find;
  SplitBehavior behavior;
};

/// Writes bytes as printable characters, after GPT-2's split where that is wanted.
class ByteLevel : public PreTokenizer {
public:
  ByteLevel(bool addPrefixSpace, bool useRegex)
      : addPrefixSpace(addPrefixSpace), useRegex(useRegex) {}

  Expected<void> apply(Pieces &pieces) const override {
    if (addPrefixSpace)
      SINTER_CHECK(rewrite(pieces, [](Piece &, std::string_view text, std::string &out) {
        if (text[0] != ' ')
          out += ' ';
        out += text;
        return Expected<void>();
      }));
    if (useRegex) {
      static const Finder words = findPattern(
          Pattern(Regex::compile("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
                                 "|\\s+(?!\\S)|\\s+")
                      .value()),
          false);
      SINTER_CHECK(split(pieces, words, SplitBehavior::Isolated));
    }
    return rewrite(pieces, [](Piece &, std::string_view text, std::string &out) {
      appendBytesAsCharacters(out, text);
      return Expected<void>();
    });
  }

private:
  bool addPrefixSpace, useRegex;
};

/// SentencePiece's way: spaces become a visible character, usually U+2581, that starts a word.
class Metaspace : public PreTokenizer {
public:
  enum class Scheme { Always, First, Never };

  Metaspace(std::string replacement, Scheme scheme, bool cut)
      : replacement(std::move(replacement)), scheme(scheme), cut(cut) {}

  Expected<void> apply(Pieces &pieces) const override {
    SINTER_CHECK(rewrite(pieces, [&](Piece &piece, std::string_view text, std::string &out) {
      bool wanted = scheme == Scheme::Always || (scheme == Scheme::First && piece.atStart);
      if (wanted && text[0] != ' ' && !text.starts_with(replacement))
        out += replacement;
      for (char c : text)
        if (c == ' ')
          out += replacement;
        else
          out += c;
      return Expected<void>();
    }));
    if (!cut)
      return {};
    return split(pieces, findPattern(Pattern(replacement), false), SplitBehavior::MergedWithNext);
  }

private:
  std::string replacement;
  Scheme scheme;
  bool cut;
};

/// Cuts every `length` characters.
class FixedLength : public PreTokenizer {
public:
  explicit FixedLength(uint32_t length) : length(length) {}
  Expected<void> apply(Pieces &pieces) const override {
    auto find = [this](std::string_view text, std::vector<Stretch> &stretches) {
      for (size_t i = 0; i < text.size();) {
        size_t begin = i;
        for (uint32_t count = 0; count < length && i < text.size(); ++count)
          i += utf8Length(static_cast<unsigned char>(text[i]));
        stretches.push_back({begin, i, false});
      }
      return Expected<void>();
    };
    return split(pieces, find, SplitBehavior::Isolated);
  }

private:
  uint32_t length;
};

class Sequence : public PreTokenizer {
public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps(std::move(steps)) {}
  Expected<void> apply(Pieces &pieces) const override {
    for (const auto &step : steps)
      SINTER_CHECK(step->apply(pieces));
    return {};
  }

private:
  std::vector<std::unique_ptr<PreTokenizer>> steps;
};

using Result = std::unique_ptr<PreTokenizer>;

Expected<Result> readMetaspace(const Reader &reader) {
  SINTER_TRY(std::string replacement, reader.character("replacement"));
  SINTER_TRY(std::string name, reader.string("prepend_scheme", "always"));
  SINTER_TRY(bool prefix, reader.boolean("add_prefix_space", true));
  SINTER_TRY(bool cut, reader.boolean("split", true));
  using Scheme = Metaspace::Scheme;
  Scheme scheme = Scheme::Always;
  if (name == "first")
    scheme = Scheme::First;
  else if (name == "never")
    scheme = Scheme::Never;
  else if (name != "always")
    return reader.unknown("the prepend_scheme", name);
  // Older files say add_prefix_space in the place of a scheme.
  if (!prefix && reader.has("prepend_scheme") && scheme != Scheme::Never)
    return reader.bad("says add_prefix_space false and prepend_scheme '" + name + "'");
  return std::make_unique<Metaspace>(std::move(replacement), prefix ? scheme : Scheme::Never, cut);
}

Result makeSplit(Finder find, SplitBehavior behavior) {
  return std::make_unique<Split>(std::move(find), behavior);
}

} // namespace

Expected<Result> readPreTokenizer(const Reader &reader, int depth) {
  SINTER_TRY(std::string type, reader.string("type"));
  if (type == "ByteLevel") {
    SINTER_TRY(bool prefix, reader.boolean("add_prefix_space"));
    SINTER_TRY(bool regex, reader.boolean("use_regex", true));
    return std::make_unique<ByteLevel>(prefix, regex);
  }
  if (type == "Metaspace")
    return readMetaspace(reader);
  if (type == "Split") {
    SINTER_TRY(Pattern pattern, Pattern::read(reader, "pattern"));
    SINTER_TRY(SplitBehavior behavior, readBehavior(reader, "behavior"));
    SINTER_TRY(bool invert, reader.boolean("invert"));
    return makeSplit(findPattern(std::move(pattern), invert), behavior);
  }
  if (type == "Digits") {
    SINTER_TRY(bool single, reader.boolean("individual_digits"));
    return makeSplit(findCharacters(isNumeric),
                     single ? SplitBehavior::Isolated : SplitBehavior::Contiguous);
  }
  if (type == "Punctuation") {
    SINTER_TRY(SplitBehavior behavior, readBehavior(reader, "behavior", SplitBehavior::Isolated));
    return makeSplit(findCharacters(isPunctuation), behavior);
  }
  if (type == "Whitespace") {
    std::string word = wordClass() + "\\x{200c}\\x{200d}";
    std::string pattern = "[" + word + "]+|[^" + word + std::string(kSpaceClass) + "]+";
    return makeSplit(findPattern(Pattern(Regex::own(pattern.c_str())), true),
                     SplitBehavior::Removed);
  }
  if (type == "WhitespaceSplit")
    return makeSplit(findCharacters(isWhitespace), SplitBehavior::Removed);
  if (type == "CharDelimiterSplit") {
    SINTER_TRY(std::string delimiter, reader.character("delimiter"));
    return makeSplit(findPattern(Pattern(std::move(delimiter)), false), SplitBehavior::Removed);
  }
  if (type == "BertPreTokenizer") {
    std::vector<Result> steps;
    steps.push_back(makeSplit(findCharacters(isWhitespace), SplitBehavior::Removed));
    steps.push_back(makeSplit(findCharacters(isPunctuation), SplitBehavior::Isolated));
    return std::make_unique<Sequence>(std::move(steps));
  }
  if (type == "FixedLength") {
    SINTER_TRY(uint32_t length, reader.integer("length", 5));
    if (length == 0)
      return reader.bad("has the length 0");
    return std::make_unique<FixedLength>(length);
  }
  if (type == "Sequence") {
    SINTER_TRY(auto steps, reader.sequence("pretokenizers", depth, readPreTokenizer));
    return std::make_unique<Sequence>(std::move(steps));
  }
  return reader.unknown("the pre-tokenizer", type);
}

std::unique_ptr<PreTokenizer> makeGpt2PreTokenizer() {
  return std::make_unique<ByteLevel>(false, true);
}

} // namespace sinter::tokenizer
