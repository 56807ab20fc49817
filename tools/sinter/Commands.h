//===- Commands.h - The commands of the command line ------------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"
#include <CLI/CLI.hpp>

namespace sinter::cli {

/// Leaves a command with an error; main() prints it.
struct CommandFailed {
  Error error;
};

/// Throws a command's error, if it has one.
inline void finish(Expected<void> outcome) {
  if (!outcome)
    throw CommandFailed{std::move(outcome).error()};
}

/// Adds a command. In main.cpp alone, since whatever makes an App takes seconds to compile.
CLI::App *addCommand(CLI::App &program, const std::string &name, const std::string &summary);

// Each adds one command, named as the function, to the program.
void addBench(CLI::App &program);
void addCache(CLI::App &program);
void addChat(CLI::App &program);
void addCompare(CLI::App &program);
void addCompile(CLI::App &program);
void addDevices(CLI::App &program);
void addEval(CLI::App &program);
void addExplain(CLI::App &program);
void addGenerate(CLI::App &program);
void addLogits(CLI::App &program);
void addManual(CLI::App &program);
void addPlan(CLI::App &program);
void addProfile(CLI::App &program);
void addQuantize(CLI::App &program);
void addTokenize(CLI::App &program);
void addTrain(CLI::App &program);
void addVerify(CLI::App &program);
void addVerifyPass(CLI::App &program);

} // namespace sinter::cli
