//===- VerifyPass.cpp - `sinter verify-pass`: a pass against the reference --===//

#include "tools/sinter/VerifyModels.h"
#include <memory>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct VerifyPassOptions : VerifyModelsOptions {
  std::string pass, after;
};
} // namespace

void sinter::cli::addVerifyPass(CLI::App &program) {
  CLI::App *command = program.add_subcommand(
      "verify-pass",
      "Checks a pass: what every entry computes before and after it on generated inputs, by the "
      "reference evaluator; of a pass behind Fusion what the executable computes, with and "
      "without it");
  auto options = std::make_shared<VerifyPassOptions>();
  addVerifyOptions(*command, *options);
  command->add_option("--pass", options->pass, "argument of the pass, or all")->required();
  command->add_option("--after", options->after,
                      "phase after which a plugin's pass runs (default: Import)");
  command->callback([options] {
    finish(verifyModels(*options, "--pass " + options->pass,
                        [&](const CompileRequest &request, const VerifyOptions &verify) {
                          return verifyPass(request, options->pass, options->after, verify);
                        }));
  });
}
