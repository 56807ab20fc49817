//===- Pieces.h - A text on its way to tokens, cut into pieces -----------===//
//
// Encoding cuts the text into ever smaller pieces: at added tokens, by the pre-tokenizer's steps,
// until each piece goes through the model by itself. A step either cuts the pieces of one text
// (`split`), or rewrites them into a new text (`rewrite`). Pieces that are a token already are
// left alone by every step.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Tokenizer/Reader.h"
#include "frontends/Tokenizer/Regex.h"

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sinter::tokenizer {

/// A range of the text. Not empty, unless it is a token.
struct Piece {
  size_t begin = 0;
  size_t end = 0;
  int32_t id = -1;      ///< the token that the piece is, or -1 if it is not yet one
  bool atStart = false; ///< begins with the first character of the text as it was given
};

/// A text and its pieces, in order.
struct Pieces {
  std::string text;
  std::vector<Piece> pieces;

  std::string_view view(const Piece &piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
};

/// A stretch of a piece: a match of what is searched, or what lies between two.
struct Stretch {
  size_t begin = 0;
  size_t end = 0;
  bool match = false;
};

/// What becomes of the matches when a piece is cut at them. "a-b--c" cut at "-":
enum class SplitBehavior {
  Removed,            ///< a, b, c
  Isolated,           ///< a, -, b, -, -, c
  MergedWithPrevious, ///< a-, b-, -, c
  MergedWithNext,     ///< a, -b, -, -c
  Contiguous,         ///< a, -, b, --, c
};

/// The behavior at `key`, by Hugging Face's name ("MergedWithNext"). Without a fallback it must be
/// there.
Expected<SplitBehavior> readBehavior(const Reader &reader, const char *key,
                                     std::optional<SplitBehavior> fallback = std::nullopt);

/// What to search for: a string, or a regular expression.
class Pattern {
public:
  /// Reads {"String": ...} or {"Regex": ...} at `key`.
  static Expected<Pattern> read(const Reader &reader, const char *key);
  explicit Pattern(std::variant<std::string, Regex> what) : what(std::move(what)) {}

  /// Calls `visit(begin, end)` for each match, left to right, without overlap.
  Expected<void> forEachMatch(std::string_view text,
                              const std::function<void(size_t, size_t)> &visit) const;

  /// `text` with each match replaced by `content`. An error as in Regex::forEachMatch.
  Expected<std::string> replace(std::string_view text, std::string_view content) const;

private:
  std::variant<std::string, Regex> what;
};

/// Lists the stretches of a piece's text, which cover it from begin to end without overlap.
using Finder = std::function<Expected<void>(std::string_view text, std::vector<Stretch> &)>;

/// Finds the characters of which `is` holds, each by itself.
Finder findCharacters(std::function<bool(char32_t)> is);

/// Finds the matches of a pattern; `invert` makes what lies between them the matches.
Finder findPattern(Pattern pattern, bool invert);

/// Cuts every piece that is not a token at the matches of `find`.
Expected<void> split(Pieces &pieces, const Finder &find, SplitBehavior behavior);

/// Replaces the text of every piece that is not a token by what `rewrite(piece, text)` appends to
/// `text`; it may also change the piece's `atStart`. Pieces that become empty go away.
Expected<void> rewrite(
    Pieces &pieces,
    const std::function<Expected<void>(Piece &, std::string_view, std::string &)> &rewritePiece);

} // namespace sinter::tokenizer
