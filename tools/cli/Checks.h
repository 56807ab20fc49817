//===- Checks.h - What the library's checks of options let pass -*- C++ -*-===//
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

namespace sinter::cli {

/// A number in a range: NaN is neither below nor above any.
inline const CLI::Validator isNumber(
    [](const std::string &text) {
      double value = 0;
      bool read = CLI::detail::lexical_cast(text, value) && !std::isnan(value);
      return read ? std::string() : text + " is not a number";
    },
    "");

/// Whether what is given for an option is to be checked as a number.
template <typename T> constexpr bool takesNumber(const T &) {
  return std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>>;
}

/// A whole number from `least` to `most`, where the library would speak of a range to 5.5.
inline CLI::Validator wholeNumber(int64_t least, int64_t most) {
  std::string range = std::to_string(least) + " to " + std::to_string(most);
  return CLI::Validator(
      [least, most, range](const std::string &text) {
        int64_t value = 0;
        auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool read = status == std::errc() && rest == text.data() + text.size();
        return read && least <= value && value <= most
                   ? std::string()
                   : text + " is not a whole number from " + range;
      },
      "");
}

/// A seed: unsigned conversions turn -1 and what is too large into the largest.
inline const CLI::Validator isSeed(
    [](const std::string &text) {
      uint64_t value = 0;
      auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), value);
      bool read = status == std::errc() && rest == text.data() + text.size();
      return read ? std::string()
                  : text + " is not a whole number from 0 to " + std::to_string(UINT64_MAX);
    },
    "");

} // namespace sinter::cli
