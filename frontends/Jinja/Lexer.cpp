#include "frontends/Jinja/Lexer.h"
#include <algorithm>
#include <array>
#include <cctype>

namespace sinter::jinja {
namespace {

bool isNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isBlank(char c) { return std::isspace(static_cast<unsigned char>(c)); }

void appendUtf8(std::string &out, uint32_t code) {
  auto add = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80)
    return add(code);
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  add((more == 1 ? 0xc0u : more == 2 ? 0xe0u : 0xf0u) | code >> (6 * more));
  while (more-- > 0)
    add(0x80u | (code >> (6 * more) & 0x3fu));
}

class Lexer {
public:
  Lexer(std::string_view text, const std::string &source) : text(text), source(source) {
    // One line break at the end is none of the program's.
    if (this->text.ends_with('\n'))
      this->text.remove_suffix(1);
  }

  Expected<std::vector<Token>> run() {
    while (at < text.size()) {
      size_t open = findOpen();
      addText(open);
      if (open == text.size())
        break;
      at = open;
      SINTER_CHECK(text[open + 1] == '#' ? skipComment() : readBraces(text[open + 1] == '%'));
    }
    add(TokenKind::End, "");
    return std::move(tokens);
  }

private:
  Error makeError(const std::string &why) const {
    return {source + ", line " + std::to_string(getLine()), why, ""};
  }
  /// The line of the place that is read, which only grows.
  size_t getLine() const {
    size_t end = std::min(at, text.size());
    line += static_cast<size_t>(std::ranges::count(text.substr(counted, end - counted), '\n'));
    counted = end;
    return line;
  }
  void add(TokenKind kind, std::string value) {
    tokens.push_back({kind, std::move(value), getLine()});
  }
  bool begins(std::string_view what) const { return text.substr(at).starts_with(what); }

  /// The next "{{", "{%" or "{#".
  size_t findOpen() const {
    for (size_t open = text.find('{', at); open < text.size() - 1; open = text.find('{', open + 1))
      if (text[open + 1] == '{' || text[open + 1] == '%' || text[open + 1] == '#')
        return open;
    return text.size();
  }

  /// What stands between braces. What is cut of it depends on both.
  void addText(size_t end) {
    std::string_view piece = text.substr(at, end - at);
    if (cutsLine && piece.starts_with('\n'))
      piece.remove_prefix(1);
    if (cutsBlanks)
      while (!piece.empty() && isBlank(piece.front()))
        piece.remove_prefix(1);
    if (end < text.size() && end + 2 < text.size() && text[end + 2] == '-') {
      while (!piece.empty() && isBlank(piece.back()))
        piece.remove_suffix(1);
    } else if (end < text.size() && text[end + 1] != '{' && text.substr(end + 2, 1) != "+") {
      size_t last = piece.find_last_not_of(" \t");
      bool beginsLine = last == std::string_view::npos
                            ? (at == 0 || text[end - piece.size() - 1] == '\n')
                            : piece[last] == '\n';
      if (beginsLine)
        piece = piece.substr(0, last == std::string_view::npos ? 0 : last + 1);
    }
    if (!piece.empty())
      add(TokenKind::Text, std::string(piece));
    cutsLine = cutsBlanks = false;
  }

  Expected<void> skipComment() {
    size_t end = text.find("#}", at + 2);
    if (end == std::string_view::npos)
      return tl::unexpected(makeError("its comment does not end"));
    close(text[end - 1], /*isOutput=*/false);
    at = end + 2;
    return {};
  }

  /// What the sign before the closing brace says of the text behind it.
  void close(char sign, bool isOutput) {
    cutsBlanks = sign == '-';
    cutsLine = !isOutput && sign != '+';
  }

  Expected<void> readBraces(bool isBlock) {
    add(isBlock ? TokenKind::BeginBlock : TokenKind::BeginOutput, "");
    at += 2;
    if (at < text.size() && (text[at] == '-' || (isBlock && text[at] == '+')))
      ++at;
    std::string_view closing = isBlock ? "%}" : "}}";
    int depth = 0;
    while (true) {
      while (at < text.size() && isBlank(text[at]))
        ++at;
      if (at >= text.size())
        return tl::unexpected(
            makeError(std::string("its ") + (isBlock ? "{%" : "{{") + " does not end"));
      bool signs = (text[at] == '-' || (isBlock && text[at] == '+')) &&
                   text.substr(at + 1).starts_with(closing);
      if (depth == 0 && (signs || begins(closing))) {
        close(signs ? text[at] : ' ', !isBlock);
        at += signs ? 3 : 2;
        add(isBlock ? TokenKind::EndBlock : TokenKind::EndOutput, "");
        return {};
      }
      depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
      SINTER_CHECK(readToken());
    }
  }

  Expected<void> readToken() {
    char c = text[at];
    if (c == '"' || c == '\'')
      return readString(c);
    if (isDigit(c)) {
      readNumber();
      return {};
    }
    if (isNameCharacter(c)) {
      size_t begin = at;
      while (at < text.size() && isNameCharacter(text[at]))
        ++at;
      add(TokenKind::Name, std::string(text.substr(begin, at - begin)));
      return {};
    }
    constexpr std::array<std::string_view, 25> operators = {
        "==", "!=", "<=", ">=", "//", "**", "+", "-", "*", "/", "%", "~", "<",
        ">",  "=",  "(",  ")",  "[",  "]",  "{", "}", ",", ":", ".", "|"};
    for (std::string_view known : operators)
      if (begins(known)) {
        add(TokenKind::Operator, std::string(known));
        at += known.size();
        return {};
      }
    return tl::unexpected(makeError(std::string("'") + c + "' begins nothing that is known"));
  }

  void readNumber() {
    std::string digits;
    bool isFloat = false;
    auto take = [&] {
      while (at < text.size() && (isDigit(text[at]) || text[at] == '_')) {
        if (text[at] != '_')
          digits += text[at];
        ++at;
      }
    };
    take();
    if (at + 1 < text.size() && text[at] == '.' && isDigit(text[at + 1])) {
      isFloat = true;
      digits += text[at++];
      take();
    }
    size_t sign = at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+') ? 1 : 0;
    if (at + 1 + sign < text.size() && (text[at] == 'e' || text[at] == 'E') &&
        isDigit(text[at + 1 + sign])) {
      isFloat = true;
      digits += text.substr(at, 1 + sign);
      at += 1 + sign;
      take();
    }
    add(isFloat ? TokenKind::Float : TokenKind::Integer, digits);
  }

  Expected<void> readString(char quote) {
    std::string value;
    for (++at; at < text.size() && text[at] != quote; ++at) {
      if (text[at] != '\\' || at + 1 >= text.size()) {
        value += text[at];
        continue;
      }
      char c = text[++at];
      constexpr std::string_view escaped = "ntrbfav0", standsFor("\n\t\r\b\f\a\v\0", 8);
      if (size_t place = escaped.find(c); place != std::string_view::npos) {
        value += standsFor[place];
      } else if (size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0) {
        uint32_t code = 0;
        for (size_t i = 0; i < digits; ++i) {
          char digit = at + 1 < text.size() ? text[at + 1] : ' ';
          if (!std::isxdigit(static_cast<unsigned char>(digit)))
            return tl::unexpected(makeError("a string's escape is not complete"));
          ++at;
          code = code * 16 +
                 static_cast<uint32_t>(isDigit(digit) ? digit - '0' : (digit | 0x20) - 'a' + 10);
        }
        appendUtf8(value, std::min(code, 0x10ffffu));
      } else if (c != '\n') {
        if (c != '\\' && c != '\'' && c != '"')
          value += '\\';
        value += c;
      }
    }
    if (at >= text.size())
      return tl::unexpected(makeError("a string does not end"));
    ++at;
    add(TokenKind::String, std::move(value));
    return {};
  }

  std::string_view text;
  const std::string &source;
  size_t at = 0;
  mutable size_t counted = 0, line = 1;      ///< lines up to a place
  bool cutsLine = false, cutsBlanks = false; ///< of the text that comes next
  std::vector<Token> tokens;
};

} // namespace

Expected<std::vector<Token>> tokenize(std::string_view text, const std::string &source) {
  return Lexer(text, source).run();
}

} // namespace sinter::jinja
