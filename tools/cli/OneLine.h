//===- OneLine.h - Errors stay on their line --------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdio>
#include <string>
#include <string_view>

namespace sinter::cli {

/// A text that quotes what others wrote (a path, a key, an option), without control characters: a
/// line break becomes "\n", others "\x1b".
inline std::string onOneLine(std::string_view text) {
  std::string line;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    char escaped[8];
    if (c == '\n')
      line += "\\n";
    else if (byte < 0x20 || byte == 0x7f)
      line.append(escaped, std::snprintf(escaped, sizeof escaped, "\\x%02x", byte));
    else
      line += c;
  }
  return line;
}

/// Texts of libraries name an option by its id in backquotes, `max_seq`; here it is its flag.
inline std::string showFlags(std::string_view text) {
  std::string shown;
  while (true) {
    size_t begin = text.find('`'), end = text.find('`', begin + 1);
    if (begin == std::string_view::npos || end == std::string_view::npos)
      return shown.append(text);
    std::string_view id = text.substr(begin + 1, end - begin - 1);
    bool isId = !id.empty() && id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
                                   std::string_view::npos;
    shown.append(text.substr(0, begin)).append(isId ? "--" : "`");
    for (char letter : id)
      shown += isId && letter == '_' ? '-' : letter;
    // What is no id may end where one begins.
    text.remove_prefix(isId ? end + 1 : end);
  }
}

/// "error: WHAT: WHY; REMEDY" or "defect: ...", as programs print it.
inline std::string describeError(const Error &error) {
  return std::string(error.defect ? "defect: " : "error: ") + onOneLine(showFlags(error.message()));
}

} // namespace sinter::cli
