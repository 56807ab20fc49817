//===- main.cpp - The program `sinter-run` ----------------------------------===//
//
// `sinter generate` for machines without a compiler: it takes executables alone and links neither
// MLIR nor LLVM.
//
//===----------------------------------------------------------------------===//

#include "tools/cli/Checks.h"
#include "tools/cli/Flags.h"
#include "tools/cli/GenerateText.h"
#include "tools/cli/Output.h"
#include "tools/cli/RunOnRanks.h"
#include "tools/cli/UsageError.h"
#include <cstdio>

using namespace sinter;

namespace {
struct Options {
  std::string path;
  cli::GenerateFlags flags;
  RankOptions ranks;
  int64_t threads = 0;
  bool json = false;
};
} // namespace

static Expected<void> run(Options &options) {
  options.flags.generation.threads = static_cast<unsigned>(options.threads);
  SINTER_CHECK(cli::readPrompt(options.flags));
  SINTER_TRY(LoadedModel model, LoadedModel::open(options.path));
  return cli::generateText(model, options.flags, options.json);
}

static Expected<void> runOnRanks(Options &options) {
  cli::RankedCommand command;
  command.options = options.ranks;
  command.observer = &options.flags.generation.observer;
  command.communicator = &options.flags.generation.communicator;
  command.threads = &options.threads;
  return cli::runOnRanks(std::move(command), [&] { return run(options); });
}

int main(int argc, char **argv) {
  CLI::App program("Runs compiled transformers.", "sinter-run");
  Options options;
  cli::Terminal terminal;
  options.flags.generation.observer = terminal.observe();
  program.add_option("FILE", options.path, "executable that `sinter compile` wrote")->required();
  cli::addGenerateFlags(program, options.flags);
  program.add_option("--seed", options.flags.generation.seed, "of random weights and of sampling")
      ->check(cli::isSeed);
  program.add_option("--threads", options.threads, "threads (default: one a processor)")
      ->check(cli::wholeNumber(1, 1024));
  program.add_flag("--json", options.json, "print one machine-readable object");
  cli::addOptions(program, options.ranks);
  program.set_version_flag("--version", "sinter-run " SINTER_VERSION);
  Expected<void> result;
  try {
    program.parse(argc, argv);
    result = runOnRanks(options);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0) {
      std::fprintf(stderr, "sinter-run: error: %s; see sinter-run --help\n",
                   cli::describeUsageError(program, error).c_str());
      return 1;
    }
    program.exit(error); // --help, --version
  }
  if (result)
    result = cli::flushOutput();
  if (result)
    return 0;
  std::fprintf(stderr, "%ssinter-run: %s\n", cli::rankPrefix().c_str(),
               cli::describeError(result.error()).c_str());
  return result.error().defect ? 2 : 1;
}
