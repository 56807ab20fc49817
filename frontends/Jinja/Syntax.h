//===- Syntax.h - A Jinja program as a tree ---------------------*- C++ -*-===//
#pragma once

#include "frontends/Jinja/Value.h"
#include <memory>
#include <string>
#include <vector>

namespace sinter::jinja {

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

struct Expression {
  enum Kind {
    Literal,     ///< `value`
    Name,        ///< the variable `text`
    Attribute,   ///< operand.text
    Item,        ///< operand[operand]
    Slice,       ///< operand[operand:operand:operand], of which the last three may be null
    Call,        ///< operand(operands..., named...)
    Filter,      ///< operand | text(operands..., named...)
    Test,        ///< operand is text operands...
    Unary,       ///< text operand: "-", "+", "not"
    Binary,      ///< operand text operand
    Compare,     ///< operand texts[i] operands..., all of neighbours
    Conditional, ///< operand if operand [else operand, which may be null]
    ListOf,      ///< [operands...]
    DictionaryOf ///< {operand: operand, ...}
  };
  Kind kind = Literal;
  size_t line = 0;
  int depth = 0; ///< of expressions within it
  std::string text;
  Value value;
  std::vector<ExpressionPointer> operands;
  std::vector<std::string> texts;
  std::vector<std::pair<std::string, ExpressionPointer>> named;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

struct Statement {
  enum Kind {
    Text,        ///< `text`
    Output,      ///< `expression`
    If,          ///< `branches`, the last one's condition null for "else"
    For,         ///< `names` of `expression` [if `condition`]: `body`, of nothing `otherwise`
    Set,         ///< `names` = expression, or `object`.name
    FilterBlock, ///< what `body` writes, through the filters of `expression`
    SetBlock,    ///< the one name = what `body` writes, through the filters of `expression`
    Macro,       ///< `text`(names, with defaults): body
    Scope,       ///< `body`
    Break,
    Continue
  };
  struct Branch {
    ExpressionPointer condition;
    Body body;
  };
  Kind kind = Text;
  size_t line = 0;
  std::string text, object;
  std::vector<std::string> names;
  std::vector<ExpressionPointer> defaults; ///< of a macro's parameters, null where there is none
  ExpressionPointer expression, condition;
  std::vector<Branch> branches;
  Body body, otherwise;
};

} // namespace sinter::jinja
