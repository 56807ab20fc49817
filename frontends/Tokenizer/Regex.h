//===- Regex.h - The regular expressions of tokenizer files --------------===//
//
// Tokenizer files carry patterns written for Oniguruma (Ruby's syntax). They run here on PCRE2,
// just-in-time compiled. The two agree on most of what these patterns use and differ in ways that
// would silently change tokens: \s, \w and \b have other members, \h is another class, "{2}+" is
// possessive in one and repeated in the other, (?m) means something else. So a pattern is parsed
// and rewritten first (`translatePattern`); what cannot be said in PCRE2 is an error, never passed
// through in the hope that it means the same.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sinter::tokenizer {

/// Rewrites an Oniguruma pattern (Ruby syntax, Unicode) as a PCRE2 pattern for the options UTF,
/// UCP and MULTILINE. The error's `why` names the construct that has no counterpart.
Expected<std::string> translatePattern(std::string_view pattern);

/// A compiled pattern. Matching is safe from any number of threads.
class Regex {
public:
  /// Compiles an Oniguruma pattern; the error names it.
  static Expected<Regex> compile(std::string_view pattern);

  /// Compiles a pattern of Sinter's own, known to be good, in PCRE2's syntax.
  static Regex own(const char *pattern);

  /// Calls `visit(begin, end)` for each match in `text` (valid UTF-8), left to right, without
  /// overlap. Empty matches count, except right behind another match. An error if the pattern
  /// needs too many steps or too much memory on this text.
  Expected<void> forEachMatch(std::string_view text,
                              const std::function<void(size_t, size_t)> &visit) const;

  /// Whether `text` has a match. A pattern that gives up has none.
  bool matches(std::string_view text) const;

private:
  static Expected<Regex> compileTranslated(std::string_view original,
                                           const std::string &translated);
  int match(std::string_view text, size_t from) const;

  std::shared_ptr<void> code;
  bool jit = false;
};

/// The inside of a PCRE2 class: characters of the general categories given, separated by spaces and
/// each one letter or two ("L Nd"), with those that PCRE2 may be too old to know.
std::string categoryClass(std::string_view categories);

/// Inside of a PCRE2 class: letters, marks, digits and connectors, as \w is for Unicode.
std::string wordClass();

/// Inside of a PCRE2 class: Unicode's White_Space.
inline constexpr std::string_view kSpaceClass =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
    "\\x{205f}\\x{3000}";

} // namespace sinter::tokenizer
