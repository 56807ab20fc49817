//===- UsageError.h - What is wrong with a command line ---------*- C++ -*-===//
#pragma once

#include "tools/cli/OneLine.h"
#include <CLI/CLI.hpp>
#include <string>

namespace sinter::cli {

/// The library's error about the options of `command` on one line, in words of ours where its own
/// say little.
inline std::string describeUsageError(const CLI::App &command, const CLI::ParseError &error) {
  if (error.get_name() == "ArgumentMismatch")
    for (const CLI::Option *option : command.get_options())
      if (option->get_items_expected_max() == 1 && option->count() > 1)
        return option->get_name() + ": is given " + std::to_string(option->count()) +
               " times; give it once";
  return onOneLine(error.what());
}

} // namespace sinter::cli
