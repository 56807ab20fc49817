//===- Value.h - What Jinja's variables hold --------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sinter::jinja {

class Value;
using List = std::vector<Value>;
/// Entries in the order in which they came; makeKey() makes keys.
using Dictionary = std::vector<std::pair<std::string, Value>>;

struct Arguments;
using Function = std::function<Expected<Value>(const Arguments &)>;

/// As Python's: None is `std::nullptr_t`, what is not defined `std::monostate`; a tuple is a list.
/// Lists and dictionaries are shared: a namespace changes for all that hold it.
class Value {
public:
  Value() = default; ///< not defined
  Value(std::nullptr_t) : data(nullptr) {}
  Value(bool value) : data(value) {}
  Value(int64_t value) : data(value) {}
  Value(double value) : data(value) {}
  Value(std::string value) : data(std::move(value)) {}
  Value(const char *value) : data(std::string(value)) {}
  Value(List value) : data(std::make_shared<List>(std::move(value))) {}
  Value(Dictionary value) : data(std::make_shared<Dictionary>(std::move(value))) {}
  Value(Function value) : data(std::make_shared<Function>(std::move(value))) {}

  bool isDefined() const { return !std::holds_alternative<std::monostate>(data); }
  bool isNone() const { return std::holds_alternative<std::nullptr_t>(data); }
  const bool *asBool() const { return std::get_if<bool>(&data); }
  const int64_t *asInteger() const { return std::get_if<int64_t>(&data); }
  const double *asFloat() const { return std::get_if<double>(&data); }
  const std::string *asString() const { return std::get_if<std::string>(&data); }
  List *asList() const;
  Dictionary *asDictionary() const;
  const Function *asFunction() const;

  /// A number, also of a boolean; nothing of others.
  std::optional<double> asNumber() const;

  /// Whether a condition holds.
  bool isTrue() const;

  /// As `{{ value }}` writes it; nothing where it is not defined.
  std::string write() const;
  /// As Python writes it within a list.
  /// @param depth of what holds it
  std::string represent(int depth = 0) const;
  /// As JSON, `indent` blanks a level, or on one line with blanks behind commas and colons.
  std::string toJson(std::optional<int64_t> indent = {}) const;
  /// What kind it is, for errors: "a string".
  const char *getKind() const;

  /// An entry of a dictionary; null where there is none, or this is no dictionary.
  const Value *find(std::string_view key) const;

  bool operator==(const Value &other) const;

private:
  void writeJson(std::string &out, std::optional<int64_t> indent, int64_t depth) const;

  std::variant<std::monostate, std::nullptr_t, bool, int64_t, double, std::string,
               std::shared_ptr<List>, std::shared_ptr<Dictionary>, std::shared_ptr<Function>>
      data;
};

/// What a function is called with.
struct Arguments {
  List positional;
  Dictionary named;

  /// The argument at a place, or of a name; null where neither is given.
  const Value *find(size_t place, std::string_view name) const;
};

/// A dictionary's key for a value, which may be a number, and back.
std::string makeKey(const Value &value);
Value readKey(const std::string &key);

/// Sets an entry of a dictionary.
void setEntry(Dictionary &dictionary, std::string_view key, Value value);

/// The characters of UTF-8, each for itself.
std::vector<std::string> splitCharacters(std::string_view text);

} // namespace sinter::jinja
