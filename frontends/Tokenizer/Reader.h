//===- Reader.h - Typed access to JSON that may be hostile ---------------===//
//
// A Reader is a JSON value together with where it stands in which file, so that a missing member
// or one of the wrong type is an error that names the place: "tokenizer.json: decoder.content is
// missing".
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Base/Error.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::tokenizer {

class Reader {
public:
  /// A view of `value`, which must outlive it. `path` is empty for the file's root.
  Reader(const nlohmann::json &value, std::string file, std::string path)
      : json(&value), file(std::move(file)), path(std::move(path)) {}

  const nlohmann::json &getValue() const { return *json; }

  /// Whether this is an object that has `key` with a value other than null.
  bool has(const char *key) const;

  /// The string, boolean or number at `key`. Missing or of another type: an error, unless missing
  /// (or null) and there is a `fallback`.
  Expected<std::string> string(const char *key,
                               std::optional<std::string> fallback = std::nullopt) const;
  Expected<bool> boolean(const char *key, std::optional<bool> fallback = std::nullopt) const;
  Expected<uint32_t> integer(const char *key,
                             std::optional<uint32_t> fallback = std::nullopt) const;

  /// The one character that the string at `key` holds.
  Expected<std::string> character(const char *key) const;

  /// The object at `key`.
  Expected<Reader> object(const char *key) const;

  /// The elements of the list at `key`.
  Expected<std::vector<Reader>> list(const char *key) const;

  /// The steps of a sequence at the nesting depth `depth`: what `read(element, depth + 1)` makes of
  /// each element of the list at `key`. Fails where sequences nest too deeply.
  template <typename Step>
  Expected<std::vector<Step>> sequence(const char *key, int depth,
                                       Expected<Step> (*read)(const Reader &, int)) const {
    if (depth >= 16)
      return bad("nests too deeply");
    SINTER_TRY(std::vector<Reader> elements, list(key));
    std::vector<Step> steps;
    for (const Reader &element : elements) {
      SINTER_TRY(Step step, read(element, depth + 1));
      steps.push_back(std::move(step));
    }
    return steps;
  }

  /// The place of an element of the list at `key`, for errors.
  Reader element(const char *key, size_t index) const {
    return Reader(*json, file, at(key) + "[" + std::to_string(index) + "]");
  }

  /// An error at this place: "<file>: <path> <why>".
  tl::unexpected<Error> bad(const std::string &why) const;

  /// The error of a part that this library does not know, by its name.
  tl::unexpected<Error> unknown(const std::string &kind, const std::string &name) const;

private:
  const nlohmann::json *find(const char *key) const;
  std::string at(const char *key) const { return path.empty() ? key : path + "." + key; }
  tl::unexpected<Error> missing(const char *key, const char *type) const;

  const nlohmann::json *json;
  std::string file;
  std::string path;
};

} // namespace sinter::tokenizer
