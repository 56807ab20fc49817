//===- Checks.h - What the library's checks of options let pass --*- C++ -*-===//
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace sinter::cli {

/// A number in a range: NaN is neither below nor above any.
inline const CLI::Validator isNumber(
    [](const std::string &text) {
      double value = 0;
      bool read = CLI::detail::lexical_cast(text, value) && !std::isnan(value);
      return read ? std::string() : text + " is not a number";
    },
    "");

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
