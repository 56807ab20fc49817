#include "frontends/Jinja/Builtins.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

namespace sinter::jinja {
namespace {

/// Of `range`: more than any conversation has.
constexpr int64_t kLongest = 1'000'000;

tl::unexpected<Error> refuse(const std::string &why) { return tl::unexpected(Error{"", why, ""}); }

std::string getText(const Value *value, std::string absent = {}) {
  return value && value->isDefined() && !value->isNone() ? value->write() : std::move(absent);
}

int64_t getInteger(const Value *value, int64_t absent) {
  std::optional<double> number = value ? value->asNumber() : std::nullopt;
  if (!number || !(std::abs(*number) < 1e15))
    return absent;
  return static_cast<int64_t>(*number);
}

//--- Strings ---------------------------------------------------------------

char toLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
char toUpper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
bool isLetter(char c) { return toLower(c) >= 'a' && toLower(c) <= 'z'; }

std::string changeCase(std::string text, char (*change)(char)) {
  std::ranges::transform(text, text.begin(), change);
  return text;
}

std::string capitalize(std::string text) {
  text = changeCase(std::move(text), toLower);
  if (!text.empty())
    text[0] = toUpper(text[0]);
  return text;
}

std::string toTitle(std::string text) {
  bool begins = true;
  for (char &c : text) {
    c = begins ? toUpper(c) : toLower(c);
    begins = !isLetter(c);
  }
  return text;
}

enum Sides { Left = 1, Right = 2, Both = 3 };

std::string strip(std::string_view text, const Value *characters, int sides) {
  std::string set = getText(characters, " \t\n\r\f\v");
  if (sides & Left)
    text.remove_prefix(std::min(text.find_first_not_of(set), text.size()));
  if (sides & Right)
    text = text.substr(0, text.find_last_not_of(set) + 1);
  return std::string(text);
}

std::string replaceAll(std::string_view text, const std::string &from, const std::string &to,
                       int64_t most) {
  std::string out;
  if (from.empty())
    return std::string(text);
  while (most != 0) {
    size_t found = text.find(from);
    if (found == std::string_view::npos)
      break;
    (out += text.substr(0, found)) += to;
    text.remove_prefix(found + from.size());
    --most;
  }
  return out += text;
}

List split(std::string_view text, const Value *separator, int64_t most, bool fromRight) {
  List parts;
  std::string between = getText(separator);
  if (between.empty()) { // runs of blanks
    constexpr std::string_view blanks = " \t\n\r\f\v";
    while (true) {
      text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
      if (text.empty())
        return parts;
      size_t end = most-- == 0 ? text.size() : std::min(text.find_first_of(blanks), text.size());
      parts.emplace_back(std::string(text.substr(0, end)));
      text.remove_prefix(end);
    }
  }
  while (most-- != 0) {
    size_t found = fromRight ? text.rfind(between) : text.find(between);
    if (found == std::string_view::npos)
      break;
    std::string_view head = text.substr(0, found), tail = text.substr(found + between.size());
    parts.emplace_back(std::string(fromRight ? tail : head));
    text = fromRight ? head : tail;
  }
  parts.emplace_back(std::string(text));
  if (fromRight)
    std::ranges::reverse(parts);
  return parts;
}

bool hasAny(const Value *affixes, auto &&matches) {
  if (const List *several = affixes ? affixes->asList() : nullptr)
    return std::ranges::any_of(*several, [&](const Value &one) { return matches(one.write()); });
  return affixes && matches(affixes->write());
}

Expected<Value> join(const Value &value, const Arguments &arguments) {
  SINTER_TRY(List items, listItems(value));
  std::string between = getText(arguments.find(0, "d")), out;
  const Value *attribute = arguments.find(1, "attribute");
  bool isFirst = true;
  for (const Value &item : items) {
    const Value *found = attribute ? item.find(attribute->write()) : &item;
    out += (std::exchange(isFirst, false) ? "" : between) + getText(found);
  }
  return Value(out);
}

Value indent(const std::string &text, const Arguments &arguments) {
  const Value *width = arguments.find(0, "width");
  std::string blanks =
      width && width->asString()
          ? *width->asString()
          : std::string(static_cast<size_t>(std::clamp<int64_t>(getInteger(width, 4), 0, 1000)),
                        ' ');
  const Value *first = arguments.find(1, "first"), *blank = arguments.find(2, "blank");
  std::string out = first && first->isTrue() ? blanks : "";
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    bool isEmpty = i + 1 < text.size() && text[i + 1] == '\n';
    if (text[i] == '\n' && i + 1 < text.size() && (!isEmpty || (blank && blank->isTrue())))
      out += blanks;
  }
  return out;
}

//--- Lists -----------------------------------------------------------------

/// "a.b" of an item.
Value getAttribute(const Value &item, const std::string &path) {
  Value value = item;
  for (const Value &part : split(path, std::array<Value, 1>{Value(".")}.data(), -1, false)) {
    const Value *found = value.find(part.write());
    Value next = found ? *found : Value();
    value = std::move(next);
  }
  return value;
}

/// @param byFirst entries are lists, of which the first items are compared
Expected<Value> sortList(List items, const Arguments &arguments, bool reverses,
                         bool byFirst = false) {
  const Value *attribute = arguments.find(2, "attribute");
  std::optional<Error> error;
  std::ranges::stable_sort(items, [&](const Value &a, const Value &b) {
    auto key = [&](const Value &item) {
      Value value = byFirst     ? item.asList()->front()
                    : attribute ? getAttribute(item, attribute->write())
                                : item;
      return value.asString() ? Value(changeCase(*value.asString(), toLower)) : value;
    };
    Expected<int> order = compareOrder(key(a), key(b));
    if (!order && !error)
      error = order.error();
    return order && (reverses ? *order > 0 : *order < 0);
  });
  if (error)
    return tl::unexpected(*error);
  return Value(std::move(items));
}

/// select, reject, selectattr and rejectattr; of nothing nothing.
Expected<Value> selectItems(std::string_view name, const Value &value, const Arguments &arguments) {
  if (!value.isTrue())
    return Value(List());
  bool ofAttribute = name.ends_with("attr"), keeps = name.starts_with("select");
  SINTER_TRY(List items, listItems(value));
  size_t first = ofAttribute ? 1 : 0;
  if (arguments.positional.size() < first)
    return refuse("the filter '" + std::string(name) + "' needs an attribute");
  std::string test;
  Arguments rest;
  if (arguments.positional.size() > first) {
    test = arguments.positional[first].write();
    rest.positional.assign(arguments.positional.begin() + static_cast<long>(first) + 1,
                           arguments.positional.end());
    if (!isTest(test))
      return refuse("'" + test + "' is no test that is known");
  }
  List kept;
  for (const Value &item : items) {
    Value of = ofAttribute ? getAttribute(item, arguments.positional[0].write()) : item;
    bool holds = of.isTrue();
    if (!test.empty()) {
      SINTER_TRY(holds, applyTest(test, of, rest));
    }
    if (holds == keeps)
      kept.push_back(item);
  }
  return Value(std::move(kept));
}

Expected<Value> mapItems(const Value &value, const Arguments &arguments) {
  if (!value.isTrue())
    return Value(List());
  SINTER_TRY(List items, listItems(value));
  List mapped;
  const Value *attribute = nullptr, *absent = nullptr;
  for (const auto &[name, given] : arguments.named) {
    attribute = name == "attribute" ? &given : attribute;
    absent = name == "default" ? &given : absent;
  }
  Arguments rest;
  std::string filter;
  if (!attribute) {
    if (arguments.positional.empty() || !isFilter(arguments.positional[0].write()))
      return refuse("the filter 'map' needs an attribute or a filter that is known");
    filter = arguments.positional[0].write();
    rest.positional.assign(arguments.positional.begin() + 1, arguments.positional.end());
  }
  for (const Value &item : items) {
    Value result = attribute ? getAttribute(item, attribute->write()) : Value();
    if (!attribute) {
      SINTER_TRY(result, applyFilter(filter, item, rest));
    }
    if (!result.isDefined() && absent)
      result = *absent;
    mapped.push_back(std::move(result));
  }
  return Value(std::move(mapped));
}

List uniqueItems(const List &items) {
  List unique;
  for (const Value &item : items)
    if (std::ranges::find(unique, item) == unique.end())
      unique.push_back(item);
  return unique;
}

List listEntries(const Dictionary &dictionary) {
  List entries;
  for (const auto &[key, value] : dictionary)
    entries.emplace_back(List{readKey(key), value});
  return entries;
}

Expected<Value> measure(const Value &value) {
  if (const std::string *text = value.asString())
    return Value(static_cast<int64_t>(splitCharacters(*text).size()));
  if (const Dictionary *dictionary = value.asDictionary())
    return Value(static_cast<int64_t>(dictionary->size()));
  SINTER_TRY(List items, listItems(value));
  return Value(static_cast<int64_t>(items.size()));
}

Expected<Value> pickExtreme(const Value &value, bool largest) {
  SINTER_TRY(List items, listItems(value));
  Value best;
  for (const Value &item : items) {
    if (best.isDefined()) {
      SINTER_TRY(int order, compareOrder(item, best));
      if (largest ? order <= 0 : order >= 0)
        continue;
    }
    best = item;
  }
  return best;
}

Expected<Value> addUp(const Value &value) {
  SINTER_TRY(List items, listItems(value));
  bool areIntegers = std::ranges::all_of(items, [](const Value &item) { return item.asInteger(); });
  double sum = 0;
  for (const Value &item : items) {
    if (!item.asNumber())
      return refuse(std::string(item.getKind()) + " cannot be added up");
    sum += *item.asNumber();
  }
  return areIntegers ? Value(static_cast<int64_t>(sum)) : Value(sum);
}

//--- Numbers ---------------------------------------------------------------

Value toInteger(const Value &value, const Arguments &arguments) {
  int64_t absent = getInteger(arguments.find(0, "default"), 0);
  if (const std::string *text = value.asString()) {
    std::string digits = strip(*text, nullptr, Both);
    double number = 0;
    auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return status == std::errc() && end == digits.data() + digits.size() && std::abs(number) < 1e15
               ? static_cast<int64_t>(number)
               : absent;
  }
  return getInteger(&value, absent);
}

Value toFloat(const Value &value, const Arguments &arguments) {
  const Value *given = arguments.find(0, "default");
  double absent = given && given->asNumber() ? *given->asNumber() : 0;
  if (const std::string *text = value.asString()) {
    std::string digits = strip(*text, nullptr, Both);
    double number = 0;
    auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return status == std::errc() && end == digits.data() + digits.size() ? number : absent;
  }
  return value.asNumber().value_or(absent);
}

Value roundNumber(const Value &value, const Arguments &arguments) {
  double number = value.asNumber().value_or(0);
  double scale = std::pow(10.0, double(getInteger(arguments.find(0, "precision"), 0)));
  std::string method = getText(arguments.find(1, "method"), "common");
  double scaled = number * scale;
  return (method == "ceil"    ? std::ceil(scaled)
          : method == "floor" ? std::floor(scaled)
                              : std::nearbyint(scaled)) /
         scale;
}

std::string escape(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '&'    ? "&amp;"
           : c == '<'  ? "&lt;"
           : c == '>'  ? "&gt;"
           : c == '"'  ? "&#34;"
           : c == '\'' ? "&#39;"
                       : std::string(1, c);
  return out;
}

constexpr std::string_view kFilters[] = {
    "abs",     "capitalize", "count",  "d",      "default",    "dictsort", "e",          "escape",
    "first",   "float",      "indent", "int",    "items",      "join",     "last",       "length",
    "list",    "lower",      "map",    "max",    "min",        "reject",   "rejectattr", "replace",
    "reverse", "round",      "safe",   "select", "selectattr", "sort",     "string",     "strip",
    "sum",     "title",      "tojson", "trim",   "unique",     "upper"};
constexpr std::string_view kTests[] = {
    "!=",       "<",        "<=",          "==",   ">",         ">=",       "boolean",
    "callable", "defined",  "divisibleby", "eq",   "equalto",   "even",     "false",
    "float",    "ge",       "gt",          "in",   "integer",   "iterable", "le",
    "lower",    "lt",       "mapping",     "ne",   "none",      "number",   "odd",
    "sameas",   "sequence", "string",      "true", "undefined", "upper"};

/// Filters of texts, or nothing.
std::optional<Value> applyTextFilter(std::string_view name, const Value &value,
                                     const Arguments &arguments) {
  std::string text = value.write();
  if (name == "trim" || name == "strip")
    return Value(strip(text, arguments.find(0, "chars"), Both));
  if (name == "lower" || name == "upper")
    return Value(changeCase(text, name == "lower" ? toLower : toUpper));
  if (name == "capitalize")
    return Value(capitalize(text));
  if (name == "title")
    return Value(toTitle(text));
  if (name == "string" || name == "safe")
    return Value(text);
  if (name == "e" || name == "escape")
    return Value(escape(text));
  if (name == "indent")
    return indent(text, arguments);
  if (name == "replace")
    return Value(replaceAll(text, getText(arguments.find(0, "old")),
                            getText(arguments.find(1, "new")),
                            getInteger(arguments.find(2, "count"), -1)));
  return std::nullopt;
}

Expected<Value> applyListFilter(std::string_view name, const Value &value,
                                const Arguments &arguments) {
  if (name == "join")
    return join(value, arguments);
  if (name == "map")
    return mapItems(value, arguments);
  if (name.starts_with("select") || name.starts_with("reject"))
    return selectItems(name, value, arguments);
  if (name == "max" || name == "min")
    return pickExtreme(value, name == "max");
  if (name == "sum")
    return addUp(value);
  SINTER_TRY(List items, listItems(value));
  if (name == "first" || name == "last")
    return items.empty() ? Value() : name == "first" ? items.front() : items.back();
  if (name == "reverse") {
    std::ranges::reverse(items);
    if (!value.asString())
      return Value(std::move(items));
    std::string text;
    for (const Value &item : items)
      text += item.write();
    return Value(text);
  }
  if (name == "sort") {
    const Value *reverses = arguments.find(0, "reverse");
    return sortList(std::move(items), arguments, reverses && reverses->isTrue());
  }
  return Value(name == "unique" ? uniqueItems(items) : std::move(items));
}

} // namespace

bool isFilter(std::string_view name) {
  return std::ranges::find(kFilters, name) != std::end(kFilters);
}
bool isTest(std::string_view name) { return std::ranges::find(kTests, name) != std::end(kTests); }

Expected<Value> applyFilter(std::string_view name, const Value &value, const Arguments &arguments) {
  if (name == "default" || name == "d") {
    const Value *otherwise = arguments.find(0, "default_value");
    const Value *ofFalse = arguments.find(1, "boolean");
    bool isThere = ofFalse && ofFalse->isTrue() ? value.isTrue() : value.isDefined();
    return isThere ? value : otherwise ? *otherwise : Value("");
  }
  if (name == "tojson") {
    const Value *width = arguments.find(0, "indent");
    if (!width || !width->asInteger())
      return Value(value.toJson());
    return Value(value.toJson(std::clamp<int64_t>(*width->asInteger(), 0, 64)));
  }
  if (name == "length" || name == "count")
    return measure(value);
  if (name == "items" || name == "dictsort") {
    const Dictionary *dictionary = value.asDictionary();
    if (!dictionary && value.isDefined())
      return refuse(std::string("'") + std::string(name) + "' of " + value.getKind());
    List entries = dictionary ? listEntries(*dictionary) : List();
    if (name == "dictsort")
      return sortList(std::move(entries), Arguments{}, false, /*byFirst=*/true);
    return Value(std::move(entries));
  }
  if (name == "int")
    return toInteger(value, arguments);
  if (name == "float")
    return toFloat(value, arguments);
  if (name == "round")
    return roundNumber(value, arguments);
  if (name == "abs")
    return value.asInteger() ? Value(std::abs(*value.asInteger()))
                             : Value(std::abs(value.asNumber().value_or(0)));
  if (std::optional<Value> text = applyTextFilter(name, value, arguments))
    return *text;
  return applyListFilter(name, value, arguments);
}

Expected<bool> applyTest(std::string_view name, const Value &value, const Arguments &arguments) {
  if (name == "defined" || name == "undefined")
    return value.isDefined() == (name == "defined");
  if (name == "none")
    return value.isNone();
  if (name == "string")
    return value.asString() != nullptr;
  if (name == "boolean")
    return value.asBool() != nullptr;
  if (name == "true" || name == "false")
    return value.asBool() && *value.asBool() == (name == "true");
  if (name == "integer")
    return value.asInteger() != nullptr;
  if (name == "float")
    return value.asFloat() != nullptr;
  if (name == "number")
    return value.asNumber().has_value();
  if (name == "mapping")
    return value.asDictionary() != nullptr;
  if (name == "iterable" || name == "sequence")
    return value.asString() || value.asList() || value.asDictionary();
  if (name == "callable")
    return value.asFunction() != nullptr;
  if (name == "lower" || name == "upper")
    return value.write() == changeCase(value.write(), name == "lower" ? toLower : toUpper);
  if (name == "odd" || name == "even")
    return (getInteger(&value, 0) % 2 != 0) == (name == "odd");
  const Value *other = arguments.find(0, "other");
  if (!other)
    return refuse("the test '" + std::string(name) + "' needs a value");
  if (name == "divisibleby") {
    int64_t by = getInteger(other, 0);
    if (by == 0)
      return refuse("a number is divided by zero");
    return getInteger(&value, 0) % by == 0;
  }
  if (name == "in")
    return contains(*other, value);
  if (name == "==" || name == "eq" || name == "equalto" || name == "sameas")
    return value == *other;
  if (name == "!=" || name == "ne")
    return !(value == *other);
  SINTER_TRY(int order, compareOrder(value, *other));
  if (name == "<" || name == "lt")
    return order < 0;
  if (name == "<=" || name == "le")
    return order <= 0;
  return name == ">" || name == "gt" ? order > 0 : order >= 0;
}

//--- Methods ---------------------------------------------------------------

static std::optional<Value> callString(const std::string &text, std::string_view name,
                                       const Arguments &arguments) {
  const Value *first = arguments.find(0, "sep"), *second = arguments.find(1, "maxsplit");
  if (name == "strip" || name == "lstrip" || name == "rstrip")
    return Value(strip(text, first, name == "strip" ? Both : name == "lstrip" ? Left : Right));
  if (name == "split" || name == "rsplit")
    return Value(split(text, first, getInteger(second, -1), name == "rsplit"));
  if (name == "splitlines") {
    List lines = split(text, std::array<Value, 1>{Value("\n")}.data(), -1, false);
    if (!lines.empty() && lines.back().write().empty())
      lines.pop_back();
    return Value(std::move(lines));
  }
  if (name == "startswith")
    return Value(hasAny(first, [&](const std::string &affix) { return text.starts_with(affix); }));
  if (name == "endswith")
    return Value(hasAny(first, [&](const std::string &affix) { return text.ends_with(affix); }));
  if (name == "removeprefix" || name == "removesuffix") {
    std::string affix = getText(first);
    if (name == "removeprefix" ? !text.starts_with(affix) : !text.ends_with(affix))
      return Value(text);
    return Value(name == "removeprefix" ? text.substr(affix.size())
                                        : text.substr(0, text.size() - affix.size()));
  }
  if (name == "find") {
    size_t found = text.find(getText(first));
    return Value(found == std::string::npos
                     ? int64_t(-1)
                     : static_cast<int64_t>(splitCharacters(text.substr(0, found)).size()));
  }
  if (name == "count") {
    int64_t count = 0;
    std::string part = getText(first);
    for (size_t at = part.empty() ? std::string::npos : text.find(part); at != std::string::npos;
         at = text.find(part, at + part.size()))
      ++count;
    return Value(count);
  }
  if (name == "isdigit" || name == "isalpha" || name == "isspace") {
    auto holds = [&](char c) {
      return name == "isdigit" ? c >= '0' && c <= '9'
             : name == "isalpha"
                 ? isLetter(c)
                 : std::string_view(" \t\n\r\f\v").find(c) != std::string_view::npos;
    };
    return Value(!text.empty() && std::ranges::all_of(text, holds));
  }
  return std::nullopt;
}

static Expected<Value> callList(const Value &owner, std::string_view name,
                                const Arguments &arguments) {
  const List &list = *owner.asList();
  const Value *first = arguments.find(0, "value");
  if ((name == "index" || name == "count") && first) {
    auto found = std::ranges::find(list, *first);
    if (name == "count")
      return Value(static_cast<int64_t>(std::ranges::count(list, *first)));
    if (found == list.end())
      return refuse("index of what a list does not hold");
    return Value(static_cast<int64_t>(found - list.begin()));
  }
  return refuse("the method '" + std::string(name) + "' of a list needs a value");
}

static Expected<Value> callDictionary(const Value &owner, std::string_view name,
                                      const Arguments &arguments) {
  const Dictionary &dictionary = *owner.asDictionary();
  if (name == "items")
    return Value(listEntries(dictionary));
  if (name == "keys" || name == "values") {
    List all;
    for (const auto &[key, value] : dictionary)
      all.push_back(name == "keys" ? readKey(key) : value);
    return Value(std::move(all));
  }
  const Value *first = arguments.find(0, "key"), *second = arguments.find(1, "default");
  std::string key = first ? makeKey(*first) : "";
  const Value *found = owner.find(key);
  return found ? *found : second ? *second : Value(nullptr);
}

Value findMethod(const Value &value, std::string_view name) {
  auto isOneOf = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  std::string method(name);
  if (value.asString()) {
    if (isOneOf({"strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "startswith",
                 "endswith", "removeprefix", "removesuffix", "find", "count", "isdigit", "isalpha",
                 "isspace"}))
      return Function([value, method](const Arguments &arguments) -> Expected<Value> {
        return *callString(*value.asString(), method, arguments);
      });
    if (isOneOf({"lower", "upper", "capitalize", "title", "replace"}))
      return Function([value, method](const Arguments &arguments) {
        return applyFilter(method, value, arguments);
      });
    if (name == "join")
      return Function([value](const Arguments &arguments) -> Expected<Value> {
        if (arguments.positional.empty())
          return refuse("the method 'join' needs a list");
        return join(arguments.positional[0], Arguments{{value}, {}});
      });
  }
  if (value.asList() && isOneOf({"index", "count"}))
    return Function(
        [value, method](const Arguments &arguments) { return callList(value, method, arguments); });
  if (value.asDictionary() && isOneOf({"items", "keys", "values", "get"}))
    return Function([value, method](const Arguments &arguments) {
      return callDictionary(value, method, arguments);
    });
  return {};
}

//--- The language's own ----------------------------------------------------

Expected<List> listItems(const Value &value) {
  List items;
  if (const List *list = value.asList())
    return *list;
  if (const Dictionary *dictionary = value.asDictionary()) {
    for (const auto &entry : *dictionary)
      items.push_back(readKey(entry.first));
  } else if (const std::string *text = value.asString()) {
    for (std::string &character : splitCharacters(*text))
      items.emplace_back(std::move(character));
  } else if (value.isDefined()) {
    return refuse(std::string(value.getKind()) + " is nothing to go over");
  }
  return items;
}

Expected<Value> takeSlice(const Value &value, const Value &begin, const Value &end,
                          const Value &step) {
  if (!value.asString() && !value.asList())
    return refuse(std::string("a part of ") + value.getKind());
  SINTER_TRY(List items, listItems(value));
  auto size = static_cast<int64_t>(items.size());
  int64_t by = getInteger(&step, 1);
  if (by == 0)
    return refuse("a slice's step is 0");
  auto place = [&](const Value &given, int64_t absent) {
    int64_t at = getInteger(&given, absent);
    if (given.asNumber() && at < 0)
      at += size;
    return std::clamp<int64_t>(at, by > 0 ? 0 : -1, by > 0 ? size : size - 1);
  };
  int64_t from = place(begin, by > 0 ? 0 : size - 1), to = place(end, by > 0 ? size : -1);
  List part;
  std::string text;
  for (int64_t i = from; by > 0 ? i < to : i > to; i += by) {
    text += value.asString() ? items[static_cast<size_t>(i)].write() : "";
    part.push_back(items[static_cast<size_t>(i)]);
  }
  return value.asString() ? Value(text) : Value(std::move(part));
}

Expected<bool> contains(const Value &all, const Value &item) {
  if (const std::string *text = all.asString()) {
    if (!item.asString())
      return refuse(std::string("looks for ") + item.getKind() + " in a string");
    return text->find(*item.asString()) != std::string::npos;
  }
  if (all.asDictionary())
    return all.find(makeKey(item)) != nullptr;
  SINTER_TRY(List items, listItems(all));
  return std::ranges::find(items, item) != items.end();
}

Expected<int> compareOrder(const Value &a, const Value &b) {
  std::optional<double> x = a.asNumber(), y = b.asNumber();
  if (x && y)
    return *x < *y ? -1 : *x > *y ? 1 : 0;
  if (a.asString() && b.asString())
    return a.asString()->compare(*b.asString());
  return refuse(std::string("compares ") + a.getKind() + " with " + b.getKind());
}

static Expected<Value> makeRange(const Arguments &arguments) {
  const List &given = arguments.positional;
  if (given.empty() || given.size() > 3)
    return refuse("'range' needs one to three numbers");
  int64_t begin = given.size() > 1 ? getInteger(&given[0], 0) : 0;
  int64_t end = getInteger(&given[given.size() > 1 ? 1 : 0], 0);
  int64_t step = given.size() > 2 ? getInteger(&given[2], 1) : 1;
  if (step == 0 || std::abs(end - begin) / std::abs(step) > kLongest)
    return refuse("a 'range' is too long");
  List all;
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step)
    all.emplace_back(i);
  return Value(std::move(all));
}

static Expected<Value> makeDictionary(const Arguments &arguments) {
  Dictionary made;
  if (!arguments.positional.empty())
    if (const Dictionary *from = arguments.positional[0].asDictionary())
      made = *from;
  for (const auto &[key, value] : arguments.named)
    setEntry(made, key, value);
  return Value(std::move(made));
}

static Expected<Value> raise(const Arguments &arguments) {
  return refuse(arguments.positional.empty() ? "it raises an exception"
                                             : arguments.positional[0].write());
}

static Expected<Value> writeTime(const Arguments &arguments) {
  std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[256] = {};
  std::string format = getText(arguments.find(0, "format"));
  size_t size = std::strftime(text, sizeof text, format.c_str(), &local);
  return Value(std::string(text, size));
}

const Dictionary &getGlobals() {
  static const Dictionary globals = {{"range", Function(makeRange)},
                                     {"dict", Function(makeDictionary)},
                                     {"namespace", Function(makeDictionary)},
                                     {"raise_exception", Function(raise)},
                                     {"strftime_now", Function(writeTime)}};
  return globals;
}

} // namespace sinter::jinja
