//===- Json.h - The text of a JSON value ------------------------*- C++ -*-===//
//
// nlohmann's parser is templates that each source would compile for itself, for seconds; here it
// is compiled once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace sinter {

/// The value that a text says; it `is_discarded()` where the text is not JSON.
nlohmann::json parseJson(std::string_view text);

} // namespace sinter
