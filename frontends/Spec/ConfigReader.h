//===- ConfigReader.h - Typed reading of a config.json ----------*- C++ -*-===//
//
// Mappings read keys one after the other without looking at errors: the first mistake is kept, what
// follows gets harmless defaults, and finish() reports the mistake. finish() also reports the keys
// that nobody read: a key that Sinter does not know may change the mathematics, so it is an error
// unless it is listed as harmless, is null, or begins with '_' (notes, by convention).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

class ConfigReader {
public:
  using Json = nlohmann::json;

  /// `object` is the object to read and must outlive the reader; `where` names it in errors.
  ConfigReader(const Json &object, std::string where) : object(object), where(std::move(where)) {}

  /// A whole number in [1, 2^31). Without `fallback` the key must be there; null counts as absent.
  int64_t size(const char *key, std::optional<int64_t> fallback = std::nullopt);

  /// The same, or nothing where the key is absent or null.
  std::optional<int64_t> optionalSize(const char *key);

  /// A whole number in [0, 2^31).
  int64_t count(const char *key, int64_t fallback);

  /// A whole number in [1, 2^31), or one for each layer, all of them equal.
  int64_t sizeOfLayers(const char *key, int64_t fallback);

  /// A finite number; null counts as absent.
  double number(const char *key, double fallback);
  std::optional<double> optionalNumber(const char *key);

  /// A finite number above zero.
  double positive(const char *key, double fallback);
  std::optional<double> optionalPositive(const char *key);

  bool flag(const char *key, bool fallback);

  std::string text(const char *key, std::string fallback);

  /// One of `choices`; returns its index. `fallback` is an index too.
  size_t choice(const char *key, std::initializer_list<const char *> choices, size_t fallback);

  /// Numbers, all finite; empty where the key is absent or null.
  std::vector<double> numbers(const char *key);

  /// Strings; nothing where the key is absent or null.
  std::optional<std::vector<std::string>> texts(const char *key);

  /// Token ids: one, a list, or none where the key is absent or null.
  std::vector<int64_t> ids(const char *key);

  /// The value of a key of any type, or null pointer; counts as read.
  const Json *value(const char *key);

  /// True where the key is there and not null; does not count as read.
  bool has(const char *key) const;

  /// True where the key is there, even as null; does not count as read.
  bool present(const char *key) const { return object.contains(key); }

  /// True for a key that was asked for, or is to be ignored.
  bool wasRead(const std::string &key) const { return read.contains(key); }

  /// Keys that do not change what a forward pass computes.
  void ignore(std::initializer_list<const char *> keys);

  /// A flag that Sinter supports at one value only.
  void requireFlag(const char *key, bool supported);

  /// Records a mistake in a key unless one is recorded already.
  void mistake(const std::string &key, std::string why, std::string remedy);

  /// Whether a mistake has been recorded.
  bool failed() const { return error.has_value(); }

  /// The first mistake, or the first key that was never read.
  Expected<void> finish();

private:
  const Json *find(const char *key);
  /// A whole number in [least, 2^31), or nothing where the key is absent or null.
  std::optional<int64_t> optionalWhole(const char *key, int64_t least);
  /// A list of `what`, each of which fits; null where it is absent or no such list, a mistake then.
  const Json *findList(const char *key, const std::string &what, bool (*fits)(const Json &));
  std::string shown(const Json &value) const;

  const Json &object;
  std::string where;
  std::set<std::string> read;
  std::optional<Error> error;
};

} // namespace sinter
