//===- Parser.h - From Jinja's tokens to a tree -----------------*- C++ -*-===//
#pragma once

#include "frontends/Jinja/Lexer.h"
#include "frontends/Jinja/Syntax.h"

namespace sinter::jinja {

/// Reads all of a program. Fails, with the line, where it does not follow the grammar, has a
/// statement that is not known, or nests more deeply than any program of use does.
Expected<Body> parseTokens(std::vector<Token> tokens, const std::string &source);

} // namespace sinter::jinja
