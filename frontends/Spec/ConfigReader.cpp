#include "frontends/Spec/ConfigReader.h"
#include <algorithm>
#include <cmath>
#include <functional>

namespace sinter {

const ConfigReader::Json *ConfigReader::find(const char *key) {
  read.insert(key);
  auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string ConfigReader::shown(const Json &value) const {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

void ConfigReader::mistake(const std::string &key, std::string why, std::string remedy) {
  if (!error)
    error = Error{where + ": key '" + key + "'", std::move(why), std::move(remedy)};
}

std::optional<int64_t> ConfigReader::optionalWhole(const char *key, int64_t least) {
  const Json *value = find(key);
  if (!value)
    return std::nullopt;
  constexpr int64_t limit = INT32_MAX;
  bool fits = value->is_number_unsigned() ? value->get<uint64_t>() <= uint64_t(limit)
                                          : value->is_number_integer();
  if (!fits || value->get<int64_t>() < least) {
    mistake(key,
            "it is " + shown(*value) + ", expected a whole number from " + std::to_string(least) +
                " to 2147483647",
            "");
    return least;
  }
  return value->get<int64_t>();
}

std::optional<int64_t> ConfigReader::optionalSize(const char *key) {
  return optionalWhole(key, /*least=*/1);
}

int64_t ConfigReader::size(const char *key, std::optional<int64_t> fallback) {
  std::optional<int64_t> value = optionalSize(key);
  if (!value && !fallback)
    mistake(key, "it is missing", "add it");
  return value ? *value : fallback.value_or(1);
}

int64_t ConfigReader::count(const char *key, int64_t fallback) {
  return optionalWhole(key, /*least=*/0).value_or(fallback);
}

int64_t ConfigReader::sizeOfLayers(const char *key, int64_t fallback) {
  const Json *value = find(key);
  if (!value || !value->is_array())
    return size(key, fallback);
  if (value->empty() || value->front() != value->back() ||
      std::adjacent_find(value->begin(), value->end(), std::not_equal_to<>()) != value->end()) {
    mistake(key, "layers that differ in it are not supported", "give one number");
    return fallback;
  }
  const Json one = {{key, value->front()}};
  ConfigReader ofLayer(one, where);
  int64_t number = ofLayer.size(key);
  if (ofLayer.error && !error)
    error = ofLayer.error;
  return number;
}

std::optional<double> ConfigReader::optionalNumber(const char *key) {
  const Json *value = find(key);
  if (!value)
    return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>())) {
    mistake(key, "it is " + shown(*value) + ", expected a number", "");
    return 1;
  }
  return value->get<double>();
}

double ConfigReader::number(const char *key, double fallback) {
  return optionalNumber(key).value_or(fallback);
}

std::optional<double> ConfigReader::optionalPositive(const char *key) {
  std::optional<double> value = optionalNumber(key);
  if (value && !(*value > 0)) {
    mistake(key, "it is " + shown(*find(key)) + ", expected a number above 0", "");
    return 1;
  }
  return value;
}

double ConfigReader::positive(const char *key, double fallback) {
  return optionalPositive(key).value_or(fallback);
}

bool ConfigReader::flag(const char *key, bool fallback) {
  const Json *value = find(key);
  if (!value)
    return fallback;
  if (!value->is_boolean()) {
    mistake(key, "it is " + shown(*value) + ", expected true or false", "");
    return fallback;
  }
  return value->get<bool>();
}

std::string ConfigReader::text(const char *key, std::string fallback) {
  const Json *value = find(key);
  if (!value)
    return fallback;
  if (!value->is_string()) {
    mistake(key, "it is " + shown(*value) + ", expected a string", "");
    return fallback;
  }
  return value->get<std::string>();
}

size_t ConfigReader::choice(const char *key, std::initializer_list<const char *> choices,
                            size_t fallback) {
  const Json *value = find(key);
  if (!value)
    return fallback;
  std::string expected;
  size_t index = 0;
  for (const char *choice : choices) {
    if (value->is_string() && value->get_ref<const std::string &>() == choice)
      return index;
    expected += std::string(index ? ", '" : "'") + choice + "'";
    ++index;
  }
  mistake(key, "it is " + shown(*value) + ", which is not supported", "use one of " + expected);
  return fallback;
}

const ConfigReader::Json *ConfigReader::findList(const char *key, const std::string &what,
                                                 bool (*fits)(const Json &)) {
  const Json *value = find(key);
  if (!value)
    return nullptr;
  if (!value->is_array()) {
    mistake(key, "it is " + shown(*value) + ", expected a list of " + what, "");
    return nullptr;
  }
  for (const Json &element : *value)
    if (!fits(element)) {
      mistake(key, "it holds " + shown(element) + ", expected " + what, "");
      return nullptr;
    }
  return value;
}

std::vector<double> ConfigReader::numbers(const char *key) {
  const Json *list = findList(key, "numbers", [](const Json &element) {
    return element.is_number() && std::isfinite(element.get<double>());
  });
  return list ? list->get<std::vector<double>>() : std::vector<double>();
}

std::optional<std::vector<std::string>> ConfigReader::texts(const char *key) {
  const Json *list =
      findList(key, "strings", [](const Json &element) { return element.is_string(); });
  if (!list)
    return std::nullopt;
  return list->get<std::vector<std::string>>();
}

std::vector<int64_t> ConfigReader::ids(const char *key) {
  const Json *value = find(key);
  std::vector<int64_t> result;
  if (!value)
    return result;
  auto add = [&](const Json &element) {
    if (element.is_number_integer() && element.get<int64_t>() >= 0)
      result.push_back(element.get<int64_t>());
    else if (!element.is_number_integer() || element.get<int64_t>() != -1)
      mistake(key, "it is " + shown(*value) + ", expected a token id or a list of them", "");
  };
  if (value->is_array())
    for (const Json &element : *value)
      add(element);
  else
    add(*value);
  return result;
}

const ConfigReader::Json *ConfigReader::value(const char *key) { return find(key); }

bool ConfigReader::has(const char *key) const {
  auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

void ConfigReader::ignore(std::initializer_list<const char *> keys) {
  read.insert(keys.begin(), keys.end());
}

void ConfigReader::requireFlag(const char *key, bool supported) {
  if (flag(key, supported) != supported)
    mistake(key, std::string("only ") + (supported ? "true" : "false") + " is supported", "");
}

Expected<void> ConfigReader::finish() {
  if (error)
    return tl::unexpected<Error>(*error);
  for (auto entry = object.begin(); entry != object.end(); ++entry)
    if (!entry->is_null() && !entry.key().starts_with('_') && !read.contains(entry.key()))
      return fail(where + ": key '" + entry.key() + "'",
                  "it is not known for this kind of model and may change what it computes",
                  "remove it if it does not");
  return {};
}

} // namespace sinter
