//===- main.cpp - The program `sinter` --------------------------------------===//

#include "tools/sinter/Commands.h"
#include <cstdio>

int main(int argc, char **argv) {
  CLI::App program("Compiles, runs and trains transformers.", "sinter");
  program.require_subcommand(1);
  program.set_version_flag("--version", "sinter " SINTER_VERSION);
  sinter::cli::addBench(program);
  sinter::cli::addCompare(program);
  sinter::cli::addCompile(program);
  sinter::cli::addDevices(program);
  sinter::cli::addExplain(program);
  sinter::cli::addGenerate(program);
  sinter::cli::addLogits(program);
  sinter::cli::addPlan(program);
  sinter::cli::addProfile(program);
  sinter::cli::addTokenize(program);
  sinter::cli::addTrain(program);
  sinter::cli::addVerifyPass(program);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return program.exit(error); // --help, --version
    std::fprintf(stderr, "sinter: error: %s; see sinter --help\n", error.what());
    return 1;
  } catch (const sinter::cli::CommandFailed &failed) {
    std::fprintf(stderr, "sinter: %s: %s\n", failed.error.defect ? "defect" : "error",
                 failed.error.message().c_str());
    return failed.error.defect ? 2 : 1;
  }
  return 0;
}
