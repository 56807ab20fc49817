//===- Lexer.h - Jinja's text, cut into tokens ------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <string>
#include <string_view>
#include <vector>

namespace sinter::jinja {

enum class TokenKind {
  Text, ///< outside of all braces
  BeginBlock,
  EndBlock, ///< {% and %}
  BeginOutput,
  EndOutput, ///< {{ and }}
  Name,
  String,
  Integer,
  Float,
  Operator, ///< "==", "(" and the like
  End
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text; ///< of a string what it stands for
  size_t line = 0;  ///< from 1 on
};

/// The tokens of a program, the last one of kind End. Comments are left out; blanks around blocks
/// are cut as `trim_blocks`, `lstrip_blocks` and minus signs want it. Fails, with the line, where
/// something does not end, or no token begins so.
Expected<std::vector<Token>> tokenize(std::string_view text, const std::string &source);

} // namespace sinter::jinja
