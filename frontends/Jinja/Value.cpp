#include "frontends/Jinja/Value.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace sinter::jinja {

List *Value::asList() const {
  auto *list = std::get_if<std::shared_ptr<List>>(&data);
  return list ? list->get() : nullptr;
}

Dictionary *Value::asDictionary() const {
  auto *dictionary = std::get_if<std::shared_ptr<Dictionary>>(&data);
  return dictionary ? dictionary->get() : nullptr;
}

const Function *Value::asFunction() const {
  auto *function = std::get_if<std::shared_ptr<Function>>(&data);
  return function ? function->get() : nullptr;
}

std::optional<double> Value::asNumber() const {
  if (const bool *value = asBool())
    return *value ? 1 : 0;
  if (const int64_t *value = asInteger())
    return static_cast<double>(*value);
  if (const double *value = asFloat())
    return *value;
  return std::nullopt;
}

bool Value::isTrue() const {
  if (std::optional<double> number = asNumber())
    return *number != 0;
  if (const std::string *text = asString())
    return !text->empty();
  if (const List *list = asList())
    return !list->empty();
  if (const Dictionary *dictionary = asDictionary())
    return !dictionary->empty();
  return asFunction() != nullptr;
}

static std::string writeFloat(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char digits[64];
  std::string text(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string Value::write() const {
  const std::string *text = asString();
  return text ? *text : isDefined() ? represent() : "";
}

/// What holds itself is not written without end.
static constexpr int kDeepestWritten = 100;

std::string Value::represent(int depth) const {
  if (depth > kDeepestWritten)
    return "...";
  if (const std::string *text = asString()) {
    char quote =
        text->find('\'') != std::string::npos && text->find('"') == std::string::npos ? '"' : '\'';
    std::string out(1, quote);
    for (char c : *text) {
      if (c == '\\' || c == quote)
        out += '\\';
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : std::string(1, c);
    }
    return out + quote;
  }
  if (const bool *value = asBool())
    return *value ? "True" : "False";
  if (const int64_t *value = asInteger())
    return std::to_string(*value);
  if (const double *value = asFloat())
    return writeFloat(*value);
  std::string out;
  if (const List *list = asList()) {
    for (const Value &value : *list)
      out += (out.empty() ? "" : ", ") + value.represent(depth + 1);
    return "[" + out + "]";
  }
  if (const Dictionary *dictionary = asDictionary()) {
    for (const auto &[key, value] : *dictionary)
      out +=
          (out.empty() ? "" : ", ") + readKey(key).represent() + ": " + value.represent(depth + 1);
    return "{" + out + "}";
  }
  return isNone() ? "None" : asFunction() ? "<function>" : "";
}

static void writeJsonString(std::string &out, const std::string &text) {
  constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (code < 0x20)
      ((out += "\\u00") += digits[code / 16]) += digits[code % 16];
    else
      out += c;
  }
  out += '"';
}

void Value::writeJson(std::string &out, std::optional<int64_t> indent, int64_t depth) const {
  auto writeAll = [&](char open, char close, size_t count, auto &&writeOne) {
    out += open;
    for (size_t i = 0; i < count; ++i) {
      out += i == 0 ? "" : indent ? "," : ", ";
      if (indent)
        out += "\n" + std::string(static_cast<size_t>(*indent * (depth + 1)), ' ');
      writeOne(i);
    }
    if (indent && count != 0)
      out += "\n" + std::string(static_cast<size_t>(*indent * depth), ' ');
    out += close;
  };
  if (depth > kDeepestWritten) {
    out += "null";
  } else if (const std::string *text = asString()) {
    writeJsonString(out, *text);
  } else if (const List *list = asList()) {
    writeAll('[', ']', list->size(),
             [&](size_t i) { (*list)[i].writeJson(out, indent, depth + 1); });
  } else if (const Dictionary *dictionary = asDictionary()) {
    writeAll('{', '}', dictionary->size(), [&](size_t i) {
      writeJsonString(out, readKey((*dictionary)[i].first).write());
      out += ": ";
      (*dictionary)[i].second.writeJson(out, indent, depth + 1);
    });
  } else if (const bool *value = asBool()) {
    out += *value ? "true" : "false";
  } else {
    out += asNumber() ? represent() : "null";
  }
}

std::string Value::toJson(std::optional<int64_t> indent) const {
  std::string out;
  writeJson(out, indent, 0);
  return out;
}

const char *Value::getKind() const {
  constexpr const char *kinds[] = {"not defined", "none",   "a boolean",    "a number",  "a number",
                                   "a string",    "a list", "a dictionary", "a function"};
  return kinds[data.index()];
}

const Value *Value::find(std::string_view key) const {
  const Dictionary *dictionary = asDictionary();
  if (!dictionary)
    return nullptr;
  auto found = std::ranges::find(*dictionary, key, &Dictionary::value_type::first);
  return found == dictionary->end() ? nullptr : &found->second;
}

bool Value::operator==(const Value &other) const {
  std::optional<double> number = asNumber(), otherNumber = other.asNumber();
  if (number || otherNumber)
    return number && otherNumber && *number == *otherNumber;
  if (data.index() != other.data.index())
    return false;
  if (const std::string *text = asString())
    return *text == *other.asString();
  if (const List *list = asList())
    return *list == *other.asList();
  if (const Dictionary *dictionary = asDictionary())
    return dictionary->size() == other.asDictionary()->size() &&
           std::ranges::all_of(*dictionary, [&](const auto &entry) {
             const Value *found = other.find(entry.first);
             return found && *found == entry.second;
           });
  return !asFunction() || asFunction() == other.asFunction();
}

const Value *Arguments::find(size_t place, std::string_view name) const {
  if (place < positional.size())
    return &positional[place];
  auto found = std::ranges::find(named, name, &Dictionary::value_type::first);
  return found == named.end() ? nullptr : &found->second;
}

std::string makeKey(const Value &value) {
  // No text begins so.
  return value.asInteger() ? std::string(1, '\0') + value.represent() : value.write();
}

Value readKey(const std::string &key) {
  int64_t number = 0;
  if (key.empty() || key.front() != '\0')
    return key;
  std::from_chars(key.data() + 1, key.data() + key.size(), number);
  return number;
}

void setEntry(Dictionary &dictionary, std::string_view key, Value value) {
  auto found = std::ranges::find(dictionary, key, &Dictionary::value_type::first);
  if (found != dictionary.end())
    found->second = std::move(value);
  else
    dictionary.emplace_back(key, std::move(value));
}

std::vector<std::string> splitCharacters(std::string_view text) {
  std::vector<std::string> characters;
  for (char c : text) {
    bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    if (continues && !characters.empty())
      characters.back() += c;
    else
      characters.emplace_back(1, c);
  }
  return characters;
}

} // namespace sinter::jinja
