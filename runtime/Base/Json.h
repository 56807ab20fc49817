//===- Json.h - The text of a JSON value ------------------------*- C++ -*-===//
//
// nlohmann's parser and serializer are templates that each source would compile for itself, for
// seconds; here they are compiled once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sinter {

/// The value that a text says; it `is_discarded()` where the text is not JSON, or nested deeper
/// than kMostNesting.
nlohmann::json parseJson(std::string_view text);
/// The same with keys in the text's order.
nlohmann::ordered_json parseOrderedJson(std::string_view text);

/// The text of a value: a line, or with an indent of spaces a line a member. Bytes that are not
/// UTF-8, as paths may hold them, become U+FFFD.
std::string writeJson(const nlohmann::json &value, int indent = -1);
std::string writeJson(const nlohmann::ordered_json &value, int indent = -1);

} // namespace sinter
