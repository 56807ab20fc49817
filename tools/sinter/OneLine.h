//===- OneLine.h - Errors stay on their line --------------------*- C++ -*-===//
#pragma once

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

} // namespace sinter::cli
