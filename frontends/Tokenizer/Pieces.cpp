//===- Pieces.cpp - Cutting and rewriting pieces of a text ---------------===//

#include "frontends/Tokenizer/Pieces.h"

#include "frontends/Tokenizer/Unicode.h"

#include <algorithm>

namespace sinter::tokenizer {

Expected<SplitBehavior> readBehavior(const Reader &reader, const char *key,
                                     std::optional<SplitBehavior> fallback) {
  if (fallback && !reader.has(key))
    return *fallback;
  SINTER_TRY(std::string name, reader.string(key));
  static constexpr std::pair<const char *, SplitBehavior> names[] = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous},
  };
  for (const auto &[known, behavior] : names)
    if (name == known)
      return behavior;
  return reader.unknown("the split behavior", name);
}

Expected<Pattern> Pattern::read(const Reader &reader, const char *key) {
  SINTER_TRY(Reader pattern, reader.object(key));
  if (pattern.has("String")) {
    SINTER_TRY(std::string text, pattern.string("String"));
    if (!text.empty())
      return Pattern(std::move(text));
    return Pattern(Regex::own("")); // matches between any two characters, as it does elsewhere
  }
  SINTER_TRY(std::string text, pattern.string("Regex"));
  Expected<Regex> regex = Regex::compile(text);
  if (!regex)
    return reader.bad("has " + regex.error().what + ": " + regex.error().why);
  return Pattern(std::move(*regex));
}

Expected<void> Pattern::forEachMatch(std::string_view text,
                                     const std::function<void(size_t, size_t)> &visit) const {
  if (text.empty())
    return {};
  if (const auto *regex = std::get_if<Regex>(&what))
    return regex->forEachMatch(text, visit);
  const std::string &searched = std::get<std::string>(what);
  for (size_t at = text.find(searched); at != std::string_view::npos;
       at = text.find(searched, at + searched.size()))
    visit(at, at + searched.size());
  return {};
}

Expected<std::string> Pattern::replace(std::string_view text, std::string_view content) const {
  std::string replaced;
  replaced.reserve(text.size());
  size_t from = 0;
  SINTER_CHECK(forEachMatch(text, [&](size_t begin, size_t end) {
    replaced.append(text.substr(from, begin - from));
    replaced.append(content);
    from = end;
  }));
  replaced.append(text.substr(from));
  return replaced;
}

Finder findCharacters(std::function<bool(char32_t)> is) {
  return [is = std::move(is)](std::string_view text,
                              std::vector<Stretch> &stretches) -> Expected<void> {
    size_t from = 0;
    for (size_t i = 0; i < text.size();) {
      size_t begin = i;
      if (!is(decodeUtf8(text, i)))
        continue;
      if (from < begin)
        stretches.push_back({from, begin, false});
      stretches.push_back({begin, i, true});
      from = i;
    }
    if (from < text.size())
      stretches.push_back({from, text.size(), false});
    return {};
  };
}

Finder findPattern(Pattern pattern, bool invert) {
  return [pattern = std::move(pattern), invert](std::string_view text,
                                                std::vector<Stretch> &stretches) -> Expected<void> {
    size_t from = 0;
    SINTER_CHECK(pattern.forEachMatch(text, [&](size_t begin, size_t end) {
      if (from != begin)
        stretches.push_back({from, begin, invert});
      stretches.push_back({begin, end, !invert});
      from = end;
    }));
    if (from != text.size())
      stretches.push_back({from, text.size(), invert});
    return {};
  };
}

/// Joins and drops stretches as `behavior` says.
static void applyBehavior(std::vector<Stretch> &stretches, SplitBehavior behavior) {
  if (behavior == SplitBehavior::Isolated || stretches.empty())
    return;
  if (behavior == SplitBehavior::Removed) {
    std::erase_if(stretches, [](const Stretch &s) { return s.match; });
    return;
  }
  // Merging with the next is merging with the previous, seen from the end.
  if (behavior == SplitBehavior::MergedWithNext)
    std::reverse(stretches.begin(), stretches.end());
  size_t kept = 0;
  bool previousMatch = false;
  for (size_t i = 0; i < stretches.size(); ++i) {
    Stretch stretch = stretches[i];
    bool join = behavior == SplitBehavior::Contiguous ? stretch.match == previousMatch
                                                      : stretch.match && !previousMatch;
    if (join && kept > 0) {
      Stretch &last = stretches[kept - 1];
      last.begin = std::min(last.begin, stretch.begin);
      last.end = std::max(last.end, stretch.end);
    } else {
      stretches[kept++] = stretch;
    }
    previousMatch = stretch.match;
  }
  stretches.resize(kept);
  if (behavior == SplitBehavior::MergedWithNext)
    std::reverse(stretches.begin(), stretches.end());
}

Expected<void> split(Pieces &pieces, const Finder &find, SplitBehavior behavior) {
  std::vector<Piece> cut;
  cut.reserve(pieces.pieces.size());
  std::vector<Stretch> stretches;
  for (const Piece &piece : pieces.pieces) {
    if (piece.id >= 0) {
      cut.push_back(piece);
      continue;
    }
    stretches.clear();
    SINTER_CHECK(find(pieces.view(piece), stretches));
    applyBehavior(stretches, behavior);
    for (const Stretch &stretch : stretches)
      if (stretch.begin < stretch.end)
        cut.push_back({piece.begin + stretch.begin, piece.begin + stretch.end, -1,
                       piece.atStart && stretch.begin == 0});
  }
  pieces.pieces = std::move(cut);
  return {};
}

Expected<void> rewrite(
    Pieces &pieces,
    const std::function<Expected<void>(Piece &, std::string_view, std::string &)> &rewritePiece) {
  std::string text;
  text.reserve(pieces.text.size() + pieces.text.size() / 2);
  size_t kept = 0;
  for (Piece piece : pieces.pieces) {
    std::string_view old = pieces.view(piece);
    piece.begin = text.size();
    if (piece.id < 0)
      SINTER_CHECK(rewritePiece(piece, old, text));
    piece.end = text.size();
    if (piece.id >= 0 || piece.begin < piece.end)
      pieces.pieces[kept++] = piece;
  }
  pieces.pieces.resize(kept);
  pieces.text = std::move(text);
  return {};
}

} // namespace sinter::tokenizer
