//===- Command.h - Run a program and read what it prints --------*- C++ -*-===//
#pragma once

#include <string>
#include <vector>

namespace sinter::simt {

struct CommandResult {
  int status = -1; ///< the exit status; not 0 where the program could not be run
  std::string output;
};

/// Runs a program with arguments, waits, and gives what it wrote to both of its outputs.
CommandResult runCommand(const std::vector<std::string> &words);

} // namespace sinter::simt
