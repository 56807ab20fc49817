//===- main.cpp - The program `sinter` --------------------------------------===//

#include "tools/cli/Help.h"
#include "tools/cli/OneLine.h"
#include "tools/cli/Output.h"
#include "tools/cli/RunOnRanks.h"
#include "tools/cli/UsageError.h"
#include "tools/sinter/Commands.h"
#include <algorithm>
#include <cstdio>
#include <string_view>

/// Prints what is wrong with the command line, and whose help says what would be right.
static int printUsageError(const CLI::App &program, const char *first,
                           const CLI::ParseError &error) {
  std::vector<CLI::App *> commands = program.get_subcommands();
  if (!commands.empty())
    std::fprintf(stderr, "sinter: error: %s; see sinter %s --help\n",
                 sinter::cli::describeUsageError(*commands.front(), error).c_str(),
                 commands.front()->get_name().c_str());
  else if (first)
    std::fprintf(stderr, "sinter: error: %s: is not a command; see sinter --help\n",
                 sinter::cli::onOneLine(first).c_str());
  else
    std::fprintf(stderr, "sinter: error: there is no command; see sinter --help\n");
  return 1;
}

CLI::App *sinter::cli::addCommand(CLI::App &program, const std::string &name,
                                  const std::string &summary) {
  return program.add_subcommand(name, summary);
}

namespace {
struct Command {
  std::string_view name;
  void (*add)(CLI::App &program);
};
constexpr Command kCommands[] = {
    {"bench", sinter::cli::addBench},       {"cache", sinter::cli::addCache},
    {"chat", sinter::cli::addChat},         {"compare", sinter::cli::addCompare},
    {"compile", sinter::cli::addCompile},   {"devices", sinter::cli::addDevices},
    {"eval", sinter::cli::addEval},         {"explain", sinter::cli::addExplain},
    {"generate", sinter::cli::addGenerate}, {"logits", sinter::cli::addLogits},
    {"manual", sinter::cli::addManual},     {"plan", sinter::cli::addPlan},
    {"profile", sinter::cli::addProfile},   {"quantize", sinter::cli::addQuantize},
    {"tokenize", sinter::cli::addTokenize}, {"train", sinter::cli::addTrain},
    {"verify", sinter::cli::addVerify},     {"verify-pass", sinter::cli::addVerifyPass}};
} // namespace

/// Adds the command that was asked for, or all of them where it takes all to answer: to make the
/// options of every command takes a third of the program's start.
static void addCommands(CLI::App &program, std::string_view asked) {
  bool isOne = asked != "manual" &&
               std::ranges::find(kCommands, asked, &Command::name) != std::end(kCommands);
  for (const Command &command : kCommands)
    if (!isOne || command.name == asked)
      command.add(program);
}

int main(int argc, char **argv) {
  CLI::App program("Compiles, runs and trains transformers.", "sinter");
  program.require_subcommand(1);
  program.formatter(std::make_shared<sinter::cli::ManualFormatter>()); // commands inherit it
  program.set_version_flag("--version", "sinter " SINTER_VERSION);
  addCommands(program, argc > 1 ? argv[1] : "");
  auto printError = [](const sinter::Error &error) {
    std::fprintf(stderr, "%ssinter: %s\n", sinter::cli::rankPrefix().c_str(),
                 sinter::cli::describeError(error).c_str());
    return error.defect ? 2 : 1;
  };
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return printUsageError(program, argc > 1 ? argv[1] : nullptr, error);
    program.exit(error); // --help, --version
  } catch (const sinter::cli::CommandFailed &failed) {
    return printError(failed.error);
  }
  auto flushed = sinter::cli::flushOutput();
  return flushed ? 0 : printError(flushed.error());
}
