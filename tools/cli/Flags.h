//===- Flags.h - Tables of options as flags ---------------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Options.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>

namespace sinter::cli {

/// Adds the flag of an option; for the types that tables have (Flags.cpp).
template <typename T> void addFlag(CLI::App &command, const OptionInfo &info, T &value);

/// Adds the flags of a table: of all its options, or of those with these ids.
template <typename Options>
void addOptions(CLI::App &command, Options &options,
                std::initializer_list<std::string_view> ids = {}) {
  Options::visit(options, [&](const OptionInfo &info, auto &value) {
    if (info.flag && (ids.size() == 0 || std::ranges::find(ids, info.id) != ids.end()))
      addFlag(command, info, value);
  });
}

/// The ids of the options that were given to a command.
inline std::set<std::string, std::less<>> listGiven(const CLI::App &command) {
  std::set<std::string, std::less<>> given;
  for (const CLI::Option *option : command.get_options())
    if (std::string name = option->get_name(); option->count() != 0 && name.starts_with("--")) {
      std::ranges::replace(name, '-', '_');
      given.insert(name.substr(2));
    }
  return given;
}

} // namespace sinter::cli
