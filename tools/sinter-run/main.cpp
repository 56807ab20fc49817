//===- main.cpp - The program `sinter-run` ----------------------------------===//
//
// `sinter generate` for machines without a compiler: it takes executables alone and links neither
// MLIR nor LLVM.
//
//===----------------------------------------------------------------------===//

#include "tools/sinter/Checks.h"
#include "tools/sinter/Generate.h"
#include "tools/sinter/OneLine.h"
#include "tools/sinter/UsageError.h"
#include "tools/sinter/Weights.h"
#include <cstdio>

using namespace sinter;

static Expected<void> run(const std::string &path, cli::GenerateOptions &options) {
  SINTER_CHECK(cli::readPrompt(options));
  SINTER_TRY(std::shared_ptr<const runtime::Executable> executable,
             runtime::Executable::open(path));
  SINTER_TRY(std::optional<WeightFiles> files, cli::openWeights(*executable, path));
  std::optional<cli::WeightFilesSource> weights;
  if (files)
    weights.emplace(*files);
  return cli::generate(executable, weights ? &*weights : nullptr, options);
}

int main(int argc, char **argv) {
  CLI::App program("Runs compiled transformers.", "sinter-run");
  std::string path;
  cli::GenerateOptions options;
  program.add_option("FILE", path, "executable that `sinter compile` wrote")->required();
  cli::addGenerateOptions(program, options);
  program.add_option("--seed", options.seed, "of random weights and of sampling")
      ->check(cli::isSeed);
  program.add_option("--threads", options.threads, "threads (default: one a processor)")
      ->check(cli::wholeNumber(1, 1024));
  program.add_flag("--json", options.json, "print one machine-readable object");
  program.set_version_flag("--version", "sinter-run " SINTER_VERSION);
  Expected<void> result;
  try {
    program.parse(argc, argv);
    result = run(path, options);
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
  const Error &error = result.error();
  std::fprintf(stderr, "sinter-run: %s: %s\n", error.defect ? "defect" : "error",
               cli::onOneLine(error.message()).c_str());
  return error.defect ? 2 : 1;
}
