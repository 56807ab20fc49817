#include "frontends/Jinja/Builtins.h"
#include "frontends/Jinja/Jinja.h"
#include "frontends/Jinja/Parser.h"
#include <algorithm>
#include <cmath>

namespace sinter::jinja {
namespace {

/// Of a program: no conversation comes near.
constexpr int64_t kMostSteps = 1'000'000;
constexpr size_t kMostText = size_t(64) << 20;
constexpr int kDeepestRun = 1000; ///< of expressions and statements, calls of macros counted in

/// Variables of a loop's body or a macro, and those around them.
struct Frame {
  Frame *outer = nullptr;
  Dictionary variables = {};

  const Value *find(std::string_view name) const {
    for (const Frame *frame = this; frame; frame = frame->outer) {
      auto found = std::ranges::find(frame->variables, name, &Dictionary::value_type::first);
      if (found != frame->variables.end())
        return &found->second;
    }
    return nullptr;
  }
};

enum class Flow { Normal, Break, Continue };

class Evaluator {
public:
  Evaluator(const std::string &source, const Dictionary &variables) : source(source) {
    globals.variables = getGlobals();
    top.outer = &globals;
    top.variables = variables;
  }

  Expected<std::string> run(const Body &body) {
    SINTER_TRY(Flow ended, runBody(body, top));
    static_cast<void>(ended);
    return std::move(out);
  }

private:
  tl::unexpected<Error> refuse(size_t line, const std::string &why) const {
    return tl::unexpected(Error{source + ", line " + std::to_string(line), why, ""});
  }
  /// What has no place yet gets one.
  template <typename T> Expected<T> placed(size_t line, Expected<T> result) const {
    if (!result && result.error().what.empty())
      return refuse(line, result.error().why);
    return result;
  }

  //--- Statements ----------------------------------------------------------

  Expected<Flow> runBody(const Body &body, Frame &frame) {
    for (const std::unique_ptr<Statement> &statement : body) {
      SINTER_TRY(Flow flow, runStatement(*statement, frame));
      if (flow != Flow::Normal)
        return flow;
    }
    return Flow::Normal;
  }

  Expected<void> write(const Statement &statement, std::string_view text) {
    out += text;
    if (out.size() > kMostText)
      return refuse(statement.line, "it writes more than any conversation has");
    return {};
  }

  Expected<Flow> runStatement(const Statement &statement, Frame &frame) {
    SINTER_CHECK(enter(statement.line));
    Expected<Flow> flow = runKind(statement, frame);
    --depth;
    return flow;
  }

  Expected<void> enter(size_t line) {
    if (++steps > kMostSteps)
      return refuse(line, "it takes more steps than any conversation needs");
    if (++depth > kDeepestRun)
      return refuse(line, "it nests too deeply");
    return {};
  }

  Expected<Flow> runKind(const Statement &statement, Frame &frame) {
    switch (statement.kind) {
    case Statement::Text:
      SINTER_CHECK(write(statement, statement.text));
      return Flow::Normal;
    case Statement::Output: {
      SINTER_TRY(Value value, evaluate(*statement.expression, frame));
      SINTER_CHECK(write(statement, value.write()));
      return Flow::Normal;
    }
    case Statement::If:
      for (const Statement::Branch &branch : statement.branches) {
        bool holds = true;
        if (branch.condition) {
          SINTER_TRY(Value condition, evaluate(*branch.condition, frame));
          holds = condition.isTrue();
        }
        if (holds)
          return runBody(branch.body, frame);
      }
      return Flow::Normal;
    case Statement::For:
      SINTER_CHECK(runFor(statement, frame));
      return Flow::Normal;
    case Statement::Set: {
      SINTER_TRY(Value value, evaluate(*statement.expression, frame));
      SINTER_CHECK(assign(statement, statement.names, std::move(value), frame));
      return Flow::Normal;
    }
    case Statement::FilterBlock: {
      SINTER_TRY(Value written, capture(statement, frame));
      SINTER_CHECK(write(statement, written.write()));
      return Flow::Normal;
    }
    case Statement::SetBlock: {
      SINTER_TRY(Value written, capture(statement, frame));
      SINTER_CHECK(assign(statement, statement.names, std::move(written), frame));
      return Flow::Normal;
    }
    case Statement::Macro:
      setEntry(frame.variables, statement.text, makeMacro(statement));
      return Flow::Normal;
    case Statement::Scope:
      return runBody(statement.body, frame);
    case Statement::Break:
      return Flow::Break;
    case Statement::Continue:
      return Flow::Continue;
    }
    return Flow::Normal;
  }

  /// What a statement's body writes, as a string, through its filters.
  Expected<Value> capture(const Statement &statement, Frame &frame) {
    std::string before = std::exchange(out, "");
    Expected<Flow> ended = runBody(statement.body, frame);
    Value written = std::exchange(out, std::move(before));
    if (!ended)
      return tl::unexpected(ended.error());
    if (!statement.expression)
      return written;
    Frame inner{&frame, {{"(written)", std::move(written)}}};
    return evaluate(*statement.expression, inner);
  }

  Expected<void> assign(const Statement &statement, const std::vector<std::string> &names,
                        Value value, Frame &frame) {
    if (!statement.object.empty()) {
      const Value *object = frame.find(statement.object);
      if (!object || !object->asDictionary())
        return refuse(statement.line, "'" + statement.object + "' is no namespace");
      setEntry(*object->asDictionary(), names.front(), std::move(value));
      return {};
    }
    if (names.size() == 1) {
      setEntry(frame.variables, names.front(), std::move(value));
      return {};
    }
    const List *parts = value.asList();
    if (!parts || parts->size() != names.size())
      return refuse(statement.line, std::string(value.getKind()) + " is not " +
                                        std::to_string(names.size()) + " values");
    List copies = *parts;
    for (size_t i = 0; i < names.size(); ++i)
      setEntry(frame.variables, names[i], copies[i]);
    return {};
  }

  static Value describeLoop(const List &items, size_t i) {
    auto at = static_cast<int64_t>(i), count = static_cast<int64_t>(items.size());
    Dictionary loop = {{"index", at + 1},        {"index0", at},
                       {"revindex", count - at}, {"revindex0", count - at - 1},
                       {"first", at == 0},       {"last", at + 1 == count},
                       {"length", count}};
    if (i > 0)
      loop.emplace_back("previtem", items[i - 1]);
    if (i + 1 < items.size())
      loop.emplace_back("nextitem", items[i + 1]);
    loop.emplace_back("cycle", Function([i](const Arguments &arguments) -> Expected<Value> {
                        const List &all = arguments.positional;
                        return all.empty() ? Value() : all[i % all.size()];
                      }));
    return Value(std::move(loop));
  }

  Expected<void> runFor(const Statement &statement, Frame &frame) {
    SINTER_TRY(Value over, evaluate(*statement.expression, frame));
    SINTER_TRY(List items, placed(statement.line, listItems(over)));
    if (statement.condition) {
      List kept;
      for (const Value &item : items) {
        Frame inner{&frame};
        SINTER_CHECK(assign(statement, statement.names, item, inner));
        SINTER_TRY(Value holds, evaluate(*statement.condition, inner));
        if (holds.isTrue())
          kept.push_back(item);
      }
      items = std::move(kept);
    }
    for (size_t i = 0; i < items.size(); ++i) {
      SINTER_CHECK(enter(statement.line));
      --depth;
      Frame inner{&frame};
      inner.variables.emplace_back("loop", describeLoop(items, i));
      SINTER_CHECK(assign(statement, statement.names, items[i], inner));
      SINTER_TRY(Flow flow, runBody(statement.body, inner));
      if (flow == Flow::Break)
        break;
    }
    if (items.empty()) {
      SINTER_TRY(Flow ended, runBody(statement.otherwise, frame));
      static_cast<void>(ended);
    }
    return {};
  }

  Value makeMacro(const Statement &macro) {
    return Function([this, &macro](const Arguments &arguments) -> Expected<Value> {
      Frame frame{&top};
      for (size_t i = 0; i < macro.names.size(); ++i) {
        const Value *given = arguments.find(i, macro.names[i]);
        Value value = given ? *given : Value();
        if (!given && macro.defaults[i]) {
          SINTER_TRY(value, evaluate(*macro.defaults[i], frame));
        }
        setEntry(frame.variables, macro.names[i], std::move(value));
      }
      return capture(macro, frame);
    });
  }

  //--- Expressions ---------------------------------------------------------

  Expected<Value> evaluate(const Expression &expression, Frame &frame) {
    SINTER_CHECK(enter(expression.line));
    Expected<Value> value = placed(expression.line, evaluateKind(expression, frame));
    --depth;
    return value;
  }

  Expected<Value> evaluateKind(const Expression &expression, Frame &frame) {
    switch (expression.kind) {
    case Expression::Literal:
      return expression.value;
    case Expression::Name: {
      const Value *found = frame.find(expression.text);
      return found ? *found : Value();
    }
    case Expression::Attribute: {
      SINTER_TRY(Value owner, evaluate(*expression.operands[0], frame));
      return getAttribute(expression, owner);
    }
    case Expression::Item:
      return evaluateItem(expression, frame);
    case Expression::Slice: {
      Value parts[4];
      for (size_t i = 0; i < 4; ++i)
        if (expression.operands[i]) {
          SINTER_TRY(parts[i], evaluate(*expression.operands[i], frame));
        }
      return takeSlice(parts[0], parts[1], parts[2], parts[3]);
    }
    case Expression::Call:
      return evaluateCall(expression, frame);
    case Expression::Filter: {
      if (!isFilter(expression.text))
        return refuse(expression.line, "'" + expression.text + "' is no filter that is known");
      SINTER_TRY(Value value, evaluate(*expression.operands[0], frame));
      SINTER_TRY(Arguments arguments, evaluateArguments(expression, frame));
      return applyFilter(expression.text, value, arguments);
    }
    case Expression::Test: {
      if (!isTest(expression.text))
        return refuse(expression.line, "'" + expression.text + "' is no test that is known");
      SINTER_TRY(Value value, evaluate(*expression.operands[0], frame));
      SINTER_TRY(Arguments arguments, evaluateArguments(expression, frame));
      SINTER_TRY(bool holds, applyTest(expression.text, value, arguments));
      return Value(holds);
    }
    case Expression::Unary:
      return evaluateUnary(expression, frame);
    case Expression::Binary:
      return evaluateBinary(expression, frame);
    case Expression::Compare:
      return evaluateCompare(expression, frame);
    case Expression::Conditional: {
      SINTER_TRY(Value condition, evaluate(*expression.operands[1], frame));
      const ExpressionPointer &chosen = expression.operands[condition.isTrue() ? 0 : 2];
      return chosen ? evaluate(*chosen, frame) : Value();
    }
    case Expression::ListOf: {
      List list;
      for (const ExpressionPointer &operand : expression.operands) {
        SINTER_TRY(Value item, evaluate(*operand, frame));
        list.push_back(std::move(item));
      }
      return Value(std::move(list));
    }
    case Expression::DictionaryOf: {
      Dictionary dictionary;
      for (size_t i = 0; i < expression.operands.size(); i += 2) {
        SINTER_TRY(Value key, evaluate(*expression.operands[i], frame));
        SINTER_TRY(Value value, evaluate(*expression.operands[i + 1], frame));
        setEntry(dictionary, makeKey(key), std::move(value));
      }
      return Value(std::move(dictionary));
    }
    }
    return Value();
  }

  /// An entry of a dictionary, else a method.
  Expected<Value> getAttribute(const Expression &expression, const Value &owner) {
    if (const Value *entry = owner.find(expression.text))
      return *entry;
    if (!owner.isDefined())
      return refuse(expression.line, "takes '" + expression.text + "' of what is not defined");
    return findMethod(owner, expression.text);
  }

  Expected<Value> evaluateItem(const Expression &expression, Frame &frame) {
    SINTER_TRY(Value owner, evaluate(*expression.operands[0], frame));
    SINTER_TRY(Value key, evaluate(*expression.operands[1], frame));
    if (!owner.isDefined())
      return refuse(expression.line, "takes an item of what is not defined");
    if (owner.asDictionary()) {
      const Value *found = owner.find(makeKey(key));
      return found ? *found : Value();
    }
    const int64_t *given = key.asInteger();
    if (!given)
      return key.asString() ? findMethod(owner, *key.asString()) : Value();
    SINTER_TRY(List items, listItems(owner));
    int64_t at = *given + (*given < 0 ? static_cast<int64_t>(items.size()) : 0);
    return at >= 0 && at < static_cast<int64_t>(items.size()) ? items[static_cast<size_t>(at)]
                                                              : Value();
  }

  Expected<Arguments> evaluateArguments(const Expression &expression, Frame &frame) {
    Arguments arguments;
    for (size_t i = 1; i < expression.operands.size(); ++i) {
      SINTER_TRY(Value value, evaluate(*expression.operands[i], frame));
      arguments.positional.push_back(std::move(value));
    }
    for (const auto &[name, operand] : expression.named) {
      SINTER_TRY(Value value, evaluate(*operand, frame));
      arguments.named.emplace_back(name, std::move(value));
    }
    return arguments;
  }

  Expected<Value> evaluateCall(const Expression &expression, Frame &frame) {
    const Expression &callee = *expression.operands[0];
    SINTER_TRY(Value function, evaluate(callee, frame));
    if (!function.asFunction())
      return refuse(expression.line,
                    (callee.text.empty() ? "what is called" : "'" + callee.text + "'") +
                        " is no function that is known");
    SINTER_TRY(Arguments arguments, evaluateArguments(expression, frame));
    return (*function.asFunction())(arguments);
  }

  Expected<Value> evaluateUnary(const Expression &expression, Frame &frame) {
    SINTER_TRY(Value value, evaluate(*expression.operands[0], frame));
    if (expression.text == "not")
      return Value(!value.isTrue());
    if (!value.asNumber())
      return refuse(expression.line, std::string("the sign of ") + value.getKind());
    if (expression.text == "+")
      return value;
    return value.asInteger() ? Value(-*value.asInteger()) : Value(-*value.asNumber());
  }

  Expected<Value> evaluateBinary(const Expression &expression, Frame &frame) {
    const std::string &sign = expression.text;
    SINTER_TRY(Value left, evaluate(*expression.operands[0], frame));
    if (sign == "or" || sign == "and")
      return left.isTrue() == (sign == "or") ? left : evaluate(*expression.operands[1], frame);
    SINTER_TRY(Value right, evaluate(*expression.operands[1], frame));
    if (sign == "~")
      return Value(left.write() + right.write());
    if (sign == "+" && left.asString() && right.asString())
      return Value(*left.asString() + *right.asString());
    if (sign == "+" && left.asList() && right.asList()) {
      List all = *left.asList();
      all.insert(all.end(), right.asList()->begin(), right.asList()->end());
      return Value(std::move(all));
    }
    if (sign == "*" && left.asString() && right.asInteger())
      return repeat(expression, *left.asString(), *right.asInteger());
    if (!left.asNumber() || !right.asNumber())
      return refuse(expression.line, std::string(left.getKind()) + " " + sign + " " +
                                         right.getKind() + " has no meaning");
    return calculate(expression, left, right);
  }

  Expected<Value> repeat(const Expression &expression, const std::string &text, int64_t times) {
    if (times > 0 && static_cast<double>(times) * double(text.size()) > double(kMostText))
      return refuse(expression.line, "it writes more than any conversation has");
    std::string all;
    for (int64_t i = 0; i < times; ++i)
      all += text;
    return Value(std::move(all));
  }

  Expected<Value> calculate(const Expression &expression, const Value &left, const Value &right) {
    const std::string &sign = expression.text;
    double x = *left.asNumber(), y = *right.asNumber(), result = 0;
    if ((sign == "/" || sign == "//" || sign == "%") && y == 0)
      return refuse(expression.line, "a number is divided by zero");
    if (sign == "+")
      result = x + y;
    else if (sign == "-")
      result = x - y;
    else if (sign == "*")
      result = x * y;
    else if (sign == "/")
      result = x / y;
    else if (sign == "//")
      result = std::floor(x / y);
    else if (sign == "%")
      result = x - y * std::floor(x / y);
    else
      result = std::pow(x, y);
    bool isWhole = sign != "/" && !left.asFloat() && !right.asFloat() && std::abs(result) < 9e15 &&
                   result == std::floor(result);
    return isWhole ? Value(static_cast<int64_t>(result)) : Value(result);
  }

  Expected<Value> evaluateCompare(const Expression &expression, Frame &frame) {
    SINTER_TRY(Value left, evaluate(*expression.operands[0], frame));
    for (size_t i = 0; i < expression.texts.size(); ++i) {
      SINTER_TRY(Value right, evaluate(*expression.operands[i + 1], frame));
      const std::string &sign = expression.texts[i];
      bool holds = false;
      if (sign == "in" || sign == "not in") {
        SINTER_TRY(holds, contains(right, left));
        holds = holds == (sign == "in");
      } else {
        SINTER_TRY(holds, applyTest(sign, left, Arguments{{right}, {}}));
      }
      if (!holds)
        return Value(false);
      left = std::move(right);
    }
    return Value(true);
  }

  const std::string &source;
  Frame globals, top;
  std::string out;
  int64_t steps = 0;
  int depth = 0;
};

} // namespace

Program::Program(std::string source, Body body)
    : source(std::move(source)), body(std::move(body)) {}
Program::Program(Program &&) noexcept = default;
Program &Program::operator=(Program &&) noexcept = default;
Program::~Program() = default;

Expected<Program> Program::parse(std::string_view text, std::string source) {
  SINTER_TRY(std::vector<Token> tokens, tokenize(text, source));
  SINTER_TRY(Body body, parseTokens(std::move(tokens), source));
  return Program(std::move(source), std::move(body));
}

Expected<std::string> Program::render(const Dictionary &variables) const {
  return Evaluator(source, variables).run(body);
}

} // namespace sinter::jinja
