#include "runtime/Base/Nesting.h"
#include <algorithm>

using namespace sinter;

/// Where a string ends that begins behind a quote at `begin`.
static size_t findEndOfString(std::string_view text, size_t begin) {
  for (size_t at = text.find('"', begin); at != std::string_view::npos;
       at = text.find('"', at + 1)) {
    size_t backslashes = 0;
    while (at - backslashes > begin && text[at - backslashes - 1] == '\\')
      ++backslashes;
    if (backslashes % 2 == 0)
      return at;
  }
  return text.size();
}

/// Whether < or > is a part of ->, <= or >= and no bracket.
static bool isOperator(std::string_view text, size_t at) {
  bool isArrow = text[at] == '>' && at > 0 && text[at - 1] == '-';
  return isArrow || text.substr(at + 1).starts_with('=');
}

size_t sinter::measureNesting(std::string_view text) {
  size_t open = 0, most = 0;
  for (size_t at = 0; at < text.size(); ++at)
    switch (char c = text[at]) {
    case '"':
      at = findEndOfString(text, at + 1);
      break;
    case '/':
      if (text.substr(at).starts_with("//"))
        at = std::min(text.find('\n', at), text.size());
      break;
    case '(':
    case '[':
    case '{':
    case '<':
      if (c != '<' || !isOperator(text, at))
        most = std::max(most, ++open);
      break;
    case ')':
    case ']':
    case '}':
    case '>':
      if (open > 0 && (c != '>' || !isOperator(text, at)))
        --open;
      break;
    default:
      break;
    }
  return most;
}
