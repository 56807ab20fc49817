#include "frontends/Jinja/Parser.h"
#include <algorithm>
#include <charconv>

namespace sinter::jinja {
namespace {

/// Of expressions and statements within each other.
constexpr int kDeepestTree = 200;

class Parser {
public:
  Parser(std::vector<Token> tokens, const std::string &source)
      : tokens(std::move(tokens)), source(source) {}

  Expected<Body> run() {
    SINTER_TRY(Body body, parseBody({}));
    return body;
  }

private:
  using Pointer = ExpressionPointer;

  //--- Tokens --------------------------------------------------------------

  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(at + ahead, tokens.size() - 1)];
  }
  bool isOperator(std::string_view text) const {
    return peek().kind == TokenKind::Operator && peek().text == text;
  }
  bool isName(std::string_view text) const {
    return peek().kind == TokenKind::Name && peek().text == text;
  }
  bool take(std::string_view text) {
    bool isThere = isOperator(text) || isName(text);
    at += isThere;
    return isThere;
  }
  Error makeError(const std::string &why) const {
    return {source + ", line " + std::to_string(peek().line), why, ""};
  }
  tl::unexpected<Error> refuse(const std::string &why) const {
    return tl::unexpected(makeError(why));
  }
  tl::unexpected<Error> expected(std::string_view what) const {
    std::string found = peek().text.empty() ? "an end" : "'" + peek().text.substr(0, 40) + "'";
    return refuse("expected " + std::string(what) + " before " + found);
  }
  Expected<void> expect(std::string_view text) {
    if (!take(text))
      return expected("'" + std::string(text) + "'");
    return {};
  }
  Expected<std::string> takeName() {
    if (peek().kind != TokenKind::Name)
      return expected("a name");
    return tokens[at++].text;
  }
  Expected<void> endBlock() {
    if (peek().kind != TokenKind::EndBlock)
      return expected("'%}'");
    ++at;
    return {};
  }

  struct Nesting {
    explicit Nesting(int &depth) : depth(depth) { ++depth; }
    ~Nesting() { --depth; }
    int &depth;
  };

  //--- Statements ----------------------------------------------------------

  /// Up to a block that begins with one of these names, which is not taken; without any, to the
  /// end.
  Expected<Body> parseBody(std::initializer_list<std::string_view> ends) {
    Nesting nesting(depth);
    if (depth > kDeepestTree)
      return refuse("it nests too deeply");
    Body body;
    while (true) {
      const Token &token = peek();
      auto statement = std::make_unique<Statement>();
      statement->line = token.line;
      if (token.kind == TokenKind::End) {
        if (ends.size() != 0)
          return expected("'" + std::string(*(ends.end() - 1)) + "'");
        return body;
      }
      if (token.kind == TokenKind::Text) {
        statement->text = token.text;
        ++at;
      } else if (token.kind == TokenKind::BeginOutput) {
        ++at;
        statement->kind = Statement::Output;
        SINTER_TRY(statement->expression, parseExpression());
        if (peek().kind != TokenKind::EndOutput)
          return expected("'}}'");
        ++at;
      } else {
        if (std::ranges::find(ends, peek(1).text) != ends.end())
          return body;
        ++at;
        SINTER_CHECK(parseBlock(*statement));
      }
      body.push_back(std::move(statement));
    }
  }

  Expected<void> parseBlock(Statement &statement) {
    SINTER_TRY(std::string name, takeName());
    if (name == "if")
      return parseIf(statement);
    if (name == "for")
      return parseFor(statement);
    if (name == "set")
      return parseSet(statement);
    if (name == "macro")
      return parseMacro(statement);
    if (name == "filter") {
      statement.kind = Statement::FilterBlock;
      // As behind a bar.
      tokens[--at] = {TokenKind::Operator, "|", statement.line};
      SINTER_TRY(statement.expression, parsePostfix(makeName("(written)"), /*takesFilters=*/true));
      SINTER_CHECK(endBlock());
      return parseInner(statement.body, "endfilter");
    }
    if (name == "generation") { // what training takes a loss of
      statement.kind = Statement::Scope;
      SINTER_CHECK(endBlock());
      return parseInner(statement.body, "endgeneration");
    }
    if (name == "break" || name == "continue") {
      if (loops == 0)
        return refuse("'" + name + "' is in no loop");
      statement.kind = name == "break" ? Statement::Break : Statement::Continue;
      return endBlock();
    }
    return refuse("'" + name + "' is no statement that is known");
  }

  /// A body and the block that ends it.
  Expected<void> parseInner(Body &body, const char *end) {
    SINTER_TRY(body, parseBody({end}));
    at += 2;
    return endBlock();
  }

  Expected<void> parseIf(Statement &statement) {
    statement.kind = Statement::If;
    bool hasCondition = true;
    while (true) {
      Statement::Branch &branch = statement.branches.emplace_back();
      if (hasCondition) {
        SINTER_TRY(branch.condition, parseExpression());
      }
      SINTER_CHECK(endBlock());
      if (hasCondition) {
        SINTER_TRY(branch.body, parseBody({"elif", "else", "endif"}));
      } else {
        SINTER_TRY(branch.body, parseBody({"endif"}));
      }
      ++at;
      SINTER_TRY(std::string next, takeName());
      if (next == "endif")
        return endBlock();
      hasCondition = next == "elif";
    }
  }

  Expected<void> parseTargets(std::vector<std::string> &names) {
    bool isTuple = take("(");
    do {
      SINTER_TRY(std::string name, takeName());
      names.push_back(std::move(name));
    } while (take(","));
    if (isTuple)
      return expect(")");
    return {};
  }

  Expected<void> parseFor(Statement &statement) {
    statement.kind = Statement::For;
    SINTER_CHECK(parseTargets(statement.names));
    SINTER_CHECK(expect("in"));
    SINTER_TRY(statement.expression, parseOr());
    if (take("if")) {
      SINTER_TRY(statement.condition, parseExpression());
    }
    if (isName("recursive"))
      return refuse("recursive loops are not supported");
    SINTER_CHECK(endBlock());
    ++loops;
    SINTER_TRY(statement.body, parseBody({"else", "endfor"}));
    --loops;
    ++at;
    SINTER_TRY(std::string next, takeName());
    SINTER_CHECK(endBlock());
    if (next == "endfor")
      return {};
    return parseInner(statement.otherwise, "endfor");
  }

  Expected<void> parseSet(Statement &statement) {
    statement.kind = Statement::Set;
    SINTER_CHECK(parseTargets(statement.names));
    if (take(".")) {
      statement.object = statement.names.back();
      SINTER_TRY(statement.names.back(), takeName());
    }
    if (take("=")) {
      SINTER_TRY(statement.expression, parseTuple());
      return endBlock();
    }
    statement.kind = Statement::SetBlock;
    if (isOperator("|")) {
      SINTER_TRY(statement.expression, parsePostfix(makeName("(written)"), /*takesFilters=*/true));
    }
    SINTER_CHECK(endBlock());
    return parseInner(statement.body, "endset");
  }

  Expected<void> parseMacro(Statement &statement) {
    statement.kind = Statement::Macro;
    SINTER_TRY(statement.text, takeName());
    SINTER_CHECK(expect("("));
    while (!take(")")) {
      SINTER_TRY(std::string name, takeName());
      statement.names.push_back(std::move(name));
      statement.defaults.emplace_back();
      if (take("=")) {
        SINTER_TRY(statement.defaults.back(), parseExpression());
      }
      if (!isOperator(")"))
        SINTER_CHECK(expect(","));
    }
    SINTER_CHECK(endBlock());
    int outer = std::exchange(loops, 0);
    SINTER_CHECK(parseInner(statement.body, "endmacro"));
    loops = outer;
    return {};
  }

  //--- Expressions, from what binds least ----------------------------------

  Pointer make(Expression::Kind kind, std::string text = {}) const {
    auto expression = std::make_unique<Expression>();
    expression->kind = kind;
    expression->line = peek().line;
    expression->text = std::move(text);
    return expression;
  }
  /// Makes an expression an operand; it may be null.
  static void adopt(Expression &parent, Pointer operand) {
    if (operand)
      parent.depth = std::max(parent.depth, operand->depth + 1);
    parent.operands.push_back(std::move(operand));
  }
  Expected<Pointer> checked(Pointer expression) const {
    if (expression->depth > kDeepestTree)
      return refuse("it nests too deeply");
    return expression;
  }
  Pointer makeName(std::string name) const { return make(Expression::Name, std::move(name)); }

  /// Several, with commas and without braces, are a list.
  Expected<Pointer> parseTuple() {
    SINTER_TRY(Pointer first, parseExpression());
    if (!isOperator(","))
      return first;
    Pointer list = make(Expression::ListOf);
    adopt(*list, std::move(first));
    while (take(",") && peek().kind != TokenKind::EndBlock) {
      SINTER_TRY(Pointer next, parseExpression());
      adopt(*list, std::move(next));
    }
    return list;
  }

  Expected<Pointer> parseExpression() {
    Nesting nesting(depth);
    if (depth > kDeepestTree)
      return refuse("it nests too deeply");
    SINTER_TRY(Pointer value, parseOr());
    while (take("if")) {
      Pointer choice = make(Expression::Conditional);
      SINTER_TRY(Pointer condition, parseOr());
      Pointer otherwise;
      if (take("else")) {
        SINTER_TRY(otherwise, parseExpression());
      }
      adopt(*choice, std::move(value));
      adopt(*choice, std::move(condition));
      adopt(*choice, std::move(otherwise));
      SINTER_TRY(value, checked(std::move(choice)));
    }
    return value;
  }

  using Rule = Expected<Pointer> (Parser::*)();

  /// Operands of one rule with operators of one rank between them, from the left.
  Expected<Pointer> parseLeft(Rule rule, std::initializer_list<std::string_view> operators) {
    SINTER_TRY(Pointer left, (this->*rule)());
    while (true) {
      auto found = std::ranges::find_if(
          operators, [&](std::string_view each) { return isOperator(each) || isName(each); });
      if (found == operators.end())
        return left;
      Pointer binary = make(Expression::Binary, std::string(*found));
      ++at;
      SINTER_TRY(Pointer right, (this->*rule)());
      adopt(*binary, std::move(left));
      adopt(*binary, std::move(right));
      SINTER_TRY(left, checked(std::move(binary)));
    }
  }

  Expected<Pointer> parseOr() { return parseLeft(&Parser::parseAnd, {"or"}); }
  Expected<Pointer> parseAnd() { return parseLeft(&Parser::parseNot, {"and"}); }

  Expected<Pointer> parseNot() {
    if (!isName("not"))
      return parseCompare();
    return parseUnary("not", &Parser::parseNot);
  }

  Expected<Pointer> parseUnary(const char *sign, Rule rule) {
    Nesting nesting(depth);
    if (depth > kDeepestTree)
      return refuse("it nests too deeply");
    Pointer unary = make(Expression::Unary, sign);
    ++at;
    SINTER_TRY(Pointer operand, (this->*rule)());
    adopt(*unary, std::move(operand));
    return unary;
  }

  std::string takeComparison() {
    for (const char *each : {"==", "!=", "<=", ">=", "<", ">"})
      if (take(each))
        return each;
    if (take("in"))
      return "in";
    if (isName("not") && peek(1).kind == TokenKind::Name && peek(1).text == "in") {
      at += 2;
      return "not in";
    }
    return "";
  }

  Expected<Pointer> parseCompare() {
    SINTER_TRY(Pointer first, parseSum());
    Pointer compare = make(Expression::Compare);
    while (true) {
      std::string sign = takeComparison();
      if (sign.empty())
        break;
      SINTER_TRY(Pointer next, parseSum());
      if (compare->operands.empty())
        adopt(*compare, std::move(first));
      compare->texts.push_back(std::move(sign));
      adopt(*compare, std::move(next));
    }
    return compare->operands.empty() ? std::move(first) : std::move(compare);
  }

  Expected<Pointer> parseSum() { return parseLeft(&Parser::parseConcat, {"+", "-"}); }
  Expected<Pointer> parseConcat() { return parseLeft(&Parser::parseProduct, {"~"}); }
  Expected<Pointer> parseProduct() { return parseLeft(&Parser::parsePower, {"*", "/", "//", "%"}); }

  Expected<Pointer> parsePower() { return parseLeft(&Parser::parseSigned, {"**"}); }

  /// A sign binds more than a filter, and less than an attribute.
  Expected<Pointer> parseSigned() {
    SINTER_TRY(Pointer bare, parseBare());
    return parsePostfix(std::move(bare), /*takesFilters=*/true);
  }

  Expected<Pointer> parseBare() {
    for (const char *sign : {"-", "+"})
      if (isOperator(sign))
        return parseUnary(sign, &Parser::parseBare);
    SINTER_TRY(Pointer primary, parsePrimary());
    return parsePostfix(std::move(primary), /*takesFilters=*/false);
  }

  /// Attributes, items, calls, filters and tests behind an operand.
  Expected<Pointer> parsePostfix(Pointer value, bool takesFilters) {
    while (true) {
      Pointer next;
      if (take(".")) {
        if (peek().kind == TokenKind::Integer) {
          next = make(Expression::Item);
          SINTER_TRY(Pointer index, parsePrimary());
          adopt(*next, std::move(value));
          adopt(*next, std::move(index));
        } else {
          SINTER_TRY(std::string name, takeName());
          next = make(Expression::Attribute, std::move(name));
          adopt(*next, std::move(value));
        }
      } else if (take("[")) {
        SINTER_TRY(next, parseIndex(std::move(value)));
      } else if (take("(")) {
        next = make(Expression::Call);
        adopt(*next, std::move(value));
        SINTER_CHECK(parseArguments(*next));
      } else if (takesFilters && take("|")) {
        SINTER_TRY(std::string name, takeName());
        next = make(Expression::Filter, std::move(name));
        adopt(*next, std::move(value));
        if (take("("))
          SINTER_CHECK(parseArguments(*next));
      } else if (takesFilters && take("is")) {
        SINTER_TRY(next, parseTest(std::move(value)));
      } else {
        return value;
      }
      SINTER_TRY(value, checked(std::move(next)));
    }
  }

  Expected<Pointer> parseIndex(Pointer value) {
    Pointer parts[3];
    size_t count = 0;
    bool isSlice = false;
    while (true) {
      if (!isOperator(":") && !isOperator("]")) {
        SINTER_TRY(parts[count], parseExpression());
      }
      if (!take(":"))
        break;
      isSlice = true;
      if (++count == 3)
        return refuse("a slice has more than three parts");
    }
    SINTER_CHECK(expect("]"));
    if (!isSlice && !parts[0])
      return refuse("an index is empty");
    Pointer item = make(isSlice ? Expression::Slice : Expression::Item);
    adopt(*item, std::move(value));
    for (Pointer &part : parts)
      if (isSlice || part)
        adopt(*item, std::move(part));
    return item;
  }

  Expected<void> parseArguments(Expression &call) {
    while (!take(")")) {
      if (peek().kind == TokenKind::Name && peek(1).kind == TokenKind::Operator &&
          peek(1).text == "=") {
        std::string name = peek().text;
        at += 2;
        SINTER_TRY(Pointer value, parseExpression());
        call.named.emplace_back(std::move(name), std::move(value));
      } else {
        SINTER_TRY(Pointer value, parseExpression());
        adopt(call, std::move(value));
      }
      if (!isOperator(")"))
        SINTER_CHECK(expect(","));
    }
    return {};
  }

  Expected<Pointer> parseTest(Pointer value) {
    bool isNegated = take("not");
    SINTER_TRY(std::string name, takeName());
    Pointer test = make(Expression::Test, std::move(name));
    adopt(*test, std::move(value));
    if (take("(")) {
      SINTER_CHECK(parseArguments(*test));
    } else if (peek().kind == TokenKind::String || peek().kind == TokenKind::Integer ||
               peek().kind == TokenKind::Float || isOperator("[") ||
               (peek().kind == TokenKind::Name && !isReserved(peek().text))) {
      SINTER_TRY(Pointer argument, parseBare());
      adopt(*test, std::move(argument));
    }
    if (!isNegated)
      return test;
    Pointer negated = make(Expression::Unary, "not");
    adopt(*negated, std::move(test));
    return negated;
  }

  static bool isReserved(std::string_view name) {
    for (std::string_view each : {"and", "or", "not", "if", "else", "in", "is", "elif"})
      if (name == each)
        return true;
    return false;
  }

  Expected<Pointer> parsePrimary() {
    const Token &token = peek();
    Pointer literal = make(Expression::Literal);
    switch (token.kind) {
    case TokenKind::String: {
      std::string text;
      while (peek().kind == TokenKind::String)
        text += tokens[at++].text;
      literal->value = std::move(text);
      return literal;
    }
    case TokenKind::Integer: {
      int64_t number = 0;
      auto [end, status] =
          std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
      if (status != std::errc())
        return refuse("the number " + token.text.substr(0, 40) + " is too large");
      literal->value = number;
      ++at;
      return literal;
    }
    case TokenKind::Float: {
      double number = 0;
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
      literal->value = number;
      ++at;
      return literal;
    }
    case TokenKind::Name:
      return parseNamed();
    case TokenKind::Operator:
      if (take("("))
        return parseParentheses();
      if (take("["))
        return parseItems(make(Expression::ListOf), "]");
      if (take("{"))
        return parseItems(make(Expression::DictionaryOf), "}");
      [[fallthrough]];
    default:
      return expected("an expression");
    }
  }

  Expected<Pointer> parseNamed() {
    const std::string &name = peek().text;
    if (isReserved(name))
      return expected("an expression");
    Pointer literal = make(Expression::Literal);
    bool isTrue = name == "true" || name == "True";
    if (isTrue || name == "false" || name == "False")
      literal->value = isTrue;
    else if (name == "none" || name == "None" || name == "null")
      literal->value = nullptr;
    else
      literal = makeName(name);
    ++at;
    return literal;
  }

  Expected<Pointer> parseParentheses() {
    if (take(")"))
      return make(Expression::ListOf);
    SINTER_TRY(Pointer first, parseExpression());
    if (take(")"))
      return first;
    Pointer list = make(Expression::ListOf);
    adopt(*list, std::move(first));
    SINTER_CHECK(expect(","));
    return parseItems(std::move(list), ")");
  }

  /// Of a list, or keys and values of a dictionary, up to what closes it.
  Expected<Pointer> parseItems(Pointer all, const char *close) {
    while (!take(close)) {
      SINTER_TRY(Pointer item, parseExpression());
      adopt(*all, std::move(item));
      if (all->kind == Expression::DictionaryOf) {
        SINTER_CHECK(expect(":"));
        SINTER_TRY(Pointer value, parseExpression());
        adopt(*all, std::move(value));
      }
      if (!isOperator(close))
        SINTER_CHECK(expect(","));
    }
    return all;
  }

  std::vector<Token> tokens;
  const std::string &source;
  size_t at = 0;
  int depth = 0, loops = 0;
};

} // namespace

Expected<Body> parseTokens(std::vector<Token> tokens, const std::string &source) {
  return Parser(std::move(tokens), source).run();
}

} // namespace sinter::jinja
