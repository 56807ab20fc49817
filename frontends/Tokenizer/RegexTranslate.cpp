//===- RegexTranslate.cpp - Oniguruma's patterns in PCRE2's words --------===//

#include "frontends/Tokenizer/Regex.h"
#include "frontends/Tokenizer/Unicode.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace sinter::tokenizer {

namespace {

constexpr size_t kNone = std::string::npos;
constexpr size_t kMaxNesting = 100;

std::string hex(char32_t c) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  do
    text.insert(text.begin(), digits[c & 15]);
  while (c >>= 4);
  return "\\x{" + text + "}";
}

bool isAsciiLetterOrDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// A property's name as Oniguruma compares it: lower case, without ' ', '_' and '-'.
std::string foldName(std::string_view name) {
  std::string folded;
  for (char c : name)
    if (c != ' ' && c != '_' && c != '-')
      folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return folded;
}

struct NamedSet {
  const char *name;
  const char *categories;       ///< general categories, separated by spaces
  std::string_view others = ""; ///< more, as the inside of a PCRE2 class
};

/// Names that both `\p{...}` and `[:...:]` may use. Alphabetic has some marks and symbols that no
/// general category tells from others; PCRE2 knows them.
const NamedSet kSharedSets[] = {
    {"alpha", "L Nl", "\\p{Alphabetic}"},
    {"alnum", "L Nl Nd", "\\p{Alphabetic}"},
    {"digit", "Nd"},
    {"space", "", kSpaceClass},
    {"word", "L M Nd Nl Pc", "\\p{Alphabetic}"},
    {"upper", "Lu", "\\p{Uppercase}"},
    {"lower", "Ll", "\\p{Lowercase}"},
    {"xdigit", "", "0-9a-fA-F"},
};

/// Names of properties besides the general categories' short ones and the scripts'.
const NamedSet kPropertySets[] = {
    {"letter", "L"},
    {"casedletter", "Lu Ll Lt"},
    {"lc", "Lu Ll Lt"},
    {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"},
    {"titlecaseletter", "Lt"},
    {"modifierletter", "Lm"},
    {"otherletter", "Lo"},
    {"mark", "M"},
    {"nonspacingmark", "Mn"},
    {"spacingmark", "Mc"},
    {"enclosingmark", "Me"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"letternumber", "Nl"},
    {"othernumber", "No"},
    {"punctuation", "P"},
    {"symbol", "S"},
    {"mathsymbol", "Sm"},
    {"currencysymbol", "Sc"},
    {"separator", "Z"},
    {"spaceseparator", "Zs"},
    {"control", "Cc"},
    {"any", "", "\\p{Any}"},
    {"whitespace", "", kSpaceClass},
    {"alphabetic", "L Nl", "\\p{Alphabetic}"},
    {"uppercase", "Lu", "\\p{Uppercase}"},
    {"lowercase", "Ll", "\\p{Lowercase}"},
    {"emoji", "", "\\p{Emoji}"},
    {"extendedpictographic", "", "\\p{Extended_Pictographic}"},
    {"emojipresentation", "", "\\p{Emoji_Presentation}"},
    {"emojimodifier", "", "\\p{Emoji_Modifier}"},
    {"ideographic", "", "\\p{Ideographic}"},
};

std::string classOf(const NamedSet &set) {
  return std::string(set.others) + categoryClass(set.categories);
}

/// The general categories, all written alike in both libraries.
constexpr std::string_view kCategories = " c cc cf cn co cs l ll lm lo lt lu m mc me mn n nd nl no "
                                         "p pc pd pe pf pi po ps s sc sk sm so z zl zp zs ";

/// \w as Oniguruma has it outside of classes: with Latin-1's superscript digits and fractions.
std::string rubyWordClass() { return wordClass() + "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"; }

/// One member of a class: a character, or a set given as the inside of a PCRE2 class.
struct Member {
  char32_t character = 0;
  std::string set;         ///< empty for a character
  std::string alternative; ///< in the place of a set: a class of its own, such as "[^a]"
};

/// A whole class as an expression that matches one character.
struct ClassExpression {
  std::string text;
  bool plain; ///< "[...]", not negated, so that it can join a class around it
};

class Translator {
public:
  explicit Translator(std::string_view pattern) : in(pattern) {}

  Expected<std::string> run() {
    if (!isValidUtf8(in))
      return no("the pattern is not valid UTF-8");
    while (position < in.size())
      SINTER_CHECK(step());
    if (groups.size() != 1)
      return no("a group is not closed");
    out.append(groups.back().wrapped, ')');
    return std::move(out);
  }

private:
  struct Group {
    size_t begin = 0;   ///< where the group starts in `out`
    size_t wrapped = 0; ///< groups opened by (?i) that close with this one
    bool caseless = false;
  };

  static tl::unexpected<Error> no(std::string why) { return fail("", std::move(why), ""); }

  bool at(std::string_view text) const { return in.substr(position, text.size()) == text; }

  /// The next character, or 0 at the end.
  char peek(size_t ahead = 0) const {
    return position + ahead < in.size() ? in[position + ahead] : '\0';
  }

  void beginAtom() { atom = out.size(); }

  Expected<void> step() {
    char c = in[position];
    switch (c) {
    case '\\':
      return escape();
    case '[': {
      beginAtom();
      SINTER_TRY(ClassExpression expression, charClass(0));
      out += expression.text;
      return {};
    }
    case '(':
      return openGroup();
    case ')': {
      if (groups.size() == 1)
        return no("')' closes no group");
      ++position;
      out.append(groups.back().wrapped + 1, ')');
      atom = groups.back().begin;
      groups.pop_back();
      return {};
    }
    case '*':
    case '+':
    case '?':
      return quantifier(std::string(1, c), 1, true);
    case '{':
      if (std::optional<Interval> interval = parseInterval())
        return quantifier(interval->text, interval->length, false, interval->fixed);
      return literal();
    case '|':
      ++position;
      out += '|';
      atom = kNone;
      return {};
    case '.':
    case '^':
    case '$':
      beginAtom();
      ++position;
      out += c;
      return {};
    default:
      return literal();
    }
  }

  Expected<void> literal() {
    beginAtom();
    size_t begin = position;
    char32_t c = decodeUtf8(in, position);
    if (c >= 0x80 || isAsciiLetterOrDigit(static_cast<char>(c)))
      out.append(in.substr(begin, position - begin));
    else
      out += hex(c);
    return {};
  }

  struct Interval {
    std::string text;
    size_t length;
    bool fixed;
  };

  /// "{n}", "{n,}", "{,m}" or "{n,m}" at the position, if it is one.
  std::optional<Interval> parseInterval() const {
    size_t i = position + 1;
    auto digits = [&] {
      size_t begin = i;
      while (i < in.size() && in[i] >= '0' && in[i] <= '9')
        ++i;
      return std::string(in.substr(begin, i - begin));
    };
    std::string low = digits(), high;
    bool comma = i < in.size() && in[i] == ',';
    if (comma) {
      ++i;
      high = digits();
    }
    if (i >= in.size() || in[i] != '}' || (low.empty() && high.empty()))
      return std::nullopt;
    std::string text = "{" + (low.empty() ? "0" : low) + (comma ? "," + high : "") + "}";
    return Interval{text, i + 1 - position, !comma};
  }

  /// A quantifier on the last atom. Ruby reads "+" behind an interval, and any quantifier behind a
  /// whole one, as a repetition of what stands before; so those wrap it in a group.
  Expected<void> quantifier(const std::string &text, size_t length, bool possessive,
                            bool fixed = false) {
    if (atom == kNone)
      return no("a quantifier has nothing to repeat");
    if (quantified == atom && quantifiedEnd == out.size()) {
      if (++wraps > kMaxNesting)
        return no("too many quantifiers");
      out.insert(atom, "(?:");
      out += ')';
    }
    out += text;
    position += length;
    if ((peek() == '?' && !fixed) || (peek() == '+' && possessive))
      out += in[position++];
    quantified = atom;
    quantifiedEnd = out.size();
    return {};
  }

  void open() { groups.push_back({out.size(), 0, groups.back().caseless}); }

  Expected<void> openGroup() {
    if (groups.size() > kMaxNesting)
      return no("groups nest too deeply");
    static constexpr std::string_view plain[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"};
    for (std::string_view prefix : plain)
      if (at(prefix)) {
        open();
        out += prefix;
        position += prefix.size();
        atom = kNone;
        return {};
      }
    if (at("(?#")) {
      size_t close = in.find(')', position);
      if (close == kNone)
        return no("a comment is not closed");
      position = close + 1;
      return {};
    }
    if (at("(?<") || at("(?'")) {
      // Names and numbers of groups matter only to back references, which are refused.
      size_t close = in.find(in[position + 2] == '<' ? '>' : '\'', position + 3);
      if (close == kNone)
        return no("a group's name is not closed");
      position = close + 1;
    } else if (at("(?")) {
      return flags();
    } else {
      ++position;
    }
    open();
    out += "(?:";
    atom = kNone;
    return {};
  }

  /// "(?i-m:...)" or "(?i)"; the second holds to the end of the group around it.
  Expected<void> flags() {
    size_t i = position + 2;
    std::string text = "(?";
    bool on = true, caseless = groups.back().caseless;
    for (; i < in.size() && in[i] != ')' && in[i] != ':'; ++i) {
      char c = in[i];
      if (c != 'i' && c != 'm' && c != '-')
        return no("a group '(?...' is of a kind that is not known");
      on = on && c != '-';
      caseless = c == 'i' ? on : caseless;
      text += c == 'm' ? 's' : c; // Ruby's (?m) lets '.' match a newline
    }
    if (i >= in.size())
      return no("a group is not closed");
    bool scoped = in[i] == ':';
    position = i + 1;
    if (scoped) {
      open();
    } else if (++groups.back().wrapped > kMaxNesting) {
      return no("too many flags");
    }
    groups.back().caseless = caseless;
    out += text + ":";
    atom = kNone;
    return {};
  }

  Expected<void> escape() {
    beginAtom();
    char c = peek(1);
    switch (c) {
    case 'A':
    case 'z':
    case 'Z':
    case 'R':
    case 'X':
      out += {'\\', c};
      position += 2;
      return {};
    case 'b':
    case 'B': {
      std::string word = "[" + rubyWordClass() + "]";
      std::string yes = "(?<=" + word + ")", notBefore = "(?<!" + word + ")";
      std::string next = "(?=" + word + ")", notNext = "(?!" + word + ")";
      out += c == 'b' ? "(?:" + yes + notNext + "|" + notBefore + next + ")"
                      : "(?:" + yes + next + "|" + notBefore + notNext + ")";
      position += 2;
      return {};
    }
    default: {
      SINTER_TRY(Member member, classEscape(false));
      if (!member.alternative.empty())
        out += member.alternative;
      else
        out += member.set.empty() ? hex(member.character) : "[" + member.set + "]";
      return {};
    }
    }
  }

  static Member character(char32_t c) { return Member{c, "", ""}; }

  static Member setOf(std::string body, bool negated) {
    return negated ? Member{0, "", "[^" + body + "]"} : Member{0, std::move(body), ""};
  }

  /// The escape at the position, as a member of a class.
  Expected<Member> classEscape(bool inClass) {
    char c = peek(1);
    position += 2;
    switch (c) {
    case '\0':
      return no("the pattern ends in '\\'");
    case 's':
      return setOf(std::string(kSpaceClass), false);
    case 'S': // inside of a class PCRE2's own, which lacks U+180E, a space no more
      return inClass ? setOf("\\S\\x{180e}", false) : setOf(std::string(kSpaceClass), true);
    case 'w':
    case 'W':
      return setOf(inClass ? wordClass() : rubyWordClass(), c == 'W');
    case 'd':
    case 'D':
      return setOf(categoryClass("Nd"), c == 'D');
    case 'h':
    case 'H':
      return setOf("0-9a-fA-F", c == 'H');
    case 'p':
    case 'P':
      return property(c == 'P');
    case 'n':
      return character('\n');
    case 'r':
      return character('\r');
    case 't':
      return character('\t');
    case 'f':
      return character('\f');
    case 'v':
      return character('\v');
    case 'a':
      return character('\a');
    case 'e':
      return character(0x1B);
    case 'b':
      if (inClass)
        return character('\b');
      break;
    case 'x':
      return codePoint(2, true);
    case 'u':
      return codePoint(4, false);
    default:
      break;
    }
    if (isAsciiLetterOrDigit(c))
      return no(std::string("the escape '\\") + c + "' is not known");
    --position;
    return character(decodeUtf8(in, position));
  }

  /// The hexadecimal digits behind \x or \u.
  Expected<Member> codePoint(size_t digits, bool braces) {
    bool braced = braces && peek() == '{';
    if (braced) {
      ++position;
      digits = 6;
    }
    char32_t value = 0;
    size_t count = 0;
    for (; count < digits; ++count, ++position) {
      char c = peek();
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0)
        break;
      value = value << 4 | static_cast<char32_t>(digit);
    }
    if (count == 0 || (braced && peek() != '}') || (!braces && count != 4))
      return no("a hexadecimal escape is malformed");
    if (braced)
      ++position;
    else if (braces && value >= 0x80)
      return no("'\\x' above 7f names a byte, not a character");
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
      return no("a hexadecimal escape names no character");
    return character(value);
  }

  /// "{Name}" behind \p or \P.
  Expected<Member> property(bool negated) {
    size_t close = in.find('}', position);
    if (peek() != '{' || close == kNone)
      return no("'\\p' needs a property in braces");
    std::string_view written = in.substr(position + 1, close - position - 1);
    position = close + 1;
    if (!written.empty() && written[0] == '^') {
      negated = !negated;
      written.remove_prefix(1);
    }
    std::string name = foldName(written);
    std::string set;
    if (name.empty() || !std::all_of(name.begin(), name.end(), isAsciiLetterOrDigit))
      return no("a property has no proper name");
    if (kCategories.find(" " + name + " ") != kNone) {
      std::string category = name;
      category[0] = static_cast<char>(category[0] - 32);
      set = categoryClass(category);
    } else if (const NamedSet *known = lookUp(name)) {
      set = classOf(*known);
    } else {
      // A script; PCRE2 says so if it knows none of this name.
      set = "\\p{sc:" + std::string(written) + "}";
    }
    if (groups.back().caseless && isOfCase(set))
      return no("the property '" + name + "' under (?i) is not supported");
    return setOf(std::move(set), negated);
  }

  /// Whether a class tells upper from lower case. Oniguruma would let (?i) blur that; PCRE2 not.
  static bool isOfCase(const std::string &set) {
    for (const char *part : {"{Lu}", "{Ll}", "{Lt}", "{Uppercase}", "{Lowercase}"})
      if (set.find(part) != kNone)
        return true;
    return false;
  }

  static const NamedSet *lookUp(const std::string &name) {
    for (const NamedSet &known : kSharedSets)
      if (name == known.name)
        return &known;
    for (const NamedSet &known : kPropertySets)
      if (name == known.name)
        return &known;
    return nullptr;
  }

  /// "[:name:]" at the position.
  Expected<Member> posixClass() {
    size_t close = in.find(":]", position);
    if (close == kNone)
      return no("a class is not closed");
    std::string name(in.substr(position + 2, close - position - 2));
    for (const NamedSet &known : kSharedSets)
      if (name == known.name) {
        if (groups.back().caseless && isOfCase(classOf(known)))
          return no("the class '[:" + name + ":]' under (?i) is not supported");
        position = close + 2;
        return setOf(classOf(known), false);
      }
    return no("a class '[:...:]' is not known");
  }

  /// What stands between two "&&" of a class: members, and classes that cannot be among them.
  struct Operand {
    std::string body;
    std::vector<std::string> alternatives;

    bool empty() const { return body.empty() && alternatives.empty(); }

    std::string expression() const {
      if (alternatives.empty())
        return "[" + body + "]";
      std::string text = body.empty() ? "(?:" : "(?:[" + body + "]|";
      for (const std::string &alternative : alternatives)
        text += alternative + "|";
      text.back() = ')';
      return text;
    }
  };

  /// The class at the position. PCRE2's classes have neither classes inside nor intersections:
  /// the first become alternatives, the second conditions on the character ahead.
  Expected<ClassExpression> charClass(size_t depth) {
    if (depth > kMaxNesting)
      return no("classes nest too deeply");
    ++position;
    bool negated = peek() == '^';
    position += negated;
    std::string conditions;
    Operand operand;
    for (bool first = true; first || peek() != ']'; first = false) {
      if (position >= in.size())
        return no("a class is not closed");
      if (!at("&&")) {
        SINTER_CHECK(classItem(operand, depth));
        continue;
      }
      position += 2;
      if (operand.empty())
        return no("'&&' in a class has nothing on its left");
      conditions += "(?=" + operand.expression() + ")";
      operand = {};
    }
    ++position;
    if (operand.empty())
      return no("'&&' in a class has nothing on its right");
    if (conditions.empty() && operand.alternatives.empty())
      return ClassExpression{(negated ? "[^" : "[") + operand.body + "]", !negated};
    std::string text = conditions + operand.expression();
    return ClassExpression{negated ? "(?:(?!" + text + ")(?s:.))" : "(?:" + text + ")", false};
  }

  /// One character, range, set or nested class.
  Expected<void> classItem(Operand &operand, size_t depth) {
    if (at("[:")) {
      SINTER_TRY(Member posix, posixClass());
      operand.body += posix.set;
      return {};
    }
    if (peek() == '[') {
      SINTER_TRY(ClassExpression nested, charClass(depth + 1));
      if (nested.plain)
        operand.body.append(nested.text, 1, nested.text.size() - 2);
      else
        operand.alternatives.push_back(std::move(nested.text));
      return {};
    }
    SINTER_TRY(Member low, member());
    if (!low.alternative.empty()) {
      operand.alternatives.push_back(std::move(low.alternative));
      return {};
    }
    if (!low.set.empty()) {
      operand.body += low.set;
      return {};
    }
    operand.body += hex(low.character);
    // A range, unless what follows the '-' is the end or a set: then the '-' is itself.
    if (peek() != '-' || peek(1) == ']' || peek(1) == '[' || position + 1 >= in.size())
      return {};
    ++position;
    SINTER_TRY(Member high, member());
    if (!high.alternative.empty()) {
      operand.body += "\\-";
      operand.alternatives.push_back(std::move(high.alternative));
    } else if (!high.set.empty()) {
      operand.body += "\\-" + high.set;
    } else if (high.character < low.character) {
      return no("a range in a class runs backwards");
    } else {
      operand.body += "-" + hex(high.character);
    }
    return {};
  }

  Expected<Member> member() {
    if (peek() == '\\')
      return classEscape(true);
    return character(decodeUtf8(in, position));
  }

  std::string_view in;
  size_t position = 0;
  std::string out;
  std::vector<Group> groups = std::vector<Group>(1);
  size_t atom = kNone;
  size_t quantified = kNone, quantifiedEnd = 0;
  size_t wraps = 0;
};

} // namespace

std::string categoryClass(std::string_view categories) {
  std::string set;
  for (size_t i = 0; i < categories.size();) {
    size_t end = std::min(categories.find(' ', i), categories.size());
    std::string_view name = categories.substr(i, end - i);
    set += "\\p{" + std::string(name) + "}";
    for (const UnicodeUpdate &update : unicodeUpdates())
      if (std::string_view(update.category).starts_with(name))
        set += hex(update.first) + (update.first < update.last ? "-" + hex(update.last) : "");
    i = end + 1;
  }
  return set;
}

std::string wordClass() { return "\\p{Alphabetic}" + categoryClass("L M Nd Nl Pc"); }

Expected<std::string> translatePattern(std::string_view pattern) {
  return Translator(pattern).run();
}

} // namespace sinter::tokenizer
