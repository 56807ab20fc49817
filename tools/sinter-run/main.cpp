//===- main.cpp - The program `sinter-run` ----------------------------------===//
//
// `sinter generate` for machines without a compiler: it takes executables alone and links neither
// MLIR nor LLVM.
//
//===----------------------------------------------------------------------===//

#include "tools/cli/Checks.h"
#include "tools/cli/GenerateText.h"
#include "tools/cli/Output.h"
#include "tools/cli/UsageError.h"
#include <cstdio>

using namespace sinter;

static Expected<void> run(const std::string &path, cli::GenerateFlags &flags, bool json) {
  SINTER_CHECK(cli::readPrompt(flags));
  SINTER_TRY(LoadedModel model, LoadedModel::open(path));
  return cli::generateText(model, flags, json);
}

int main(int argc, char **argv) {
  CLI::App program("Runs compiled transformers.", "sinter-run");
  std::string path;
  cli::GenerateFlags flags;
  cli::Terminal terminal;
  flags.generation.observer = terminal.observe();
  bool json = false;
  program.add_option("FILE", path, "executable that `sinter compile` wrote")->required();
  cli::addGenerateFlags(program, flags);
  program.add_option("--seed", flags.generation.seed, "of random weights and of sampling")
      ->check(cli::isSeed);
  program.add_option("--threads", flags.generation.threads, "threads (default: one a processor)")
      ->check(cli::wholeNumber(1, 1024));
  program.add_flag("--json", json, "print one machine-readable object");
  program.set_version_flag("--version", "sinter-run " SINTER_VERSION);
  Expected<void> result;
  try {
    program.parse(argc, argv);
    result = run(path, flags, json);
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
  std::fprintf(stderr, "sinter-run: %s\n", cli::describeError(result.error()).c_str());
  return result.error().defect ? 2 : 1;
}
