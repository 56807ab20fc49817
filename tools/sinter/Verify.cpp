//===- Verify.cpp - `sinter verify`: a pipeline against the reference -------===//

#include "tools/sinter/VerifyModels.h"
#include <memory>

using namespace sinter;
using namespace sinter::cli;

void sinter::cli::addVerify(CLI::App &program) {
  CLI::App *command = program.add_subcommand(
      "verify",
      "Checks the compiler on a model: what the executable of every entry computes on generated "
      "weights and inputs, beside the reference evaluator; where they differ, names the first "
      "pass that makes it so, the op and the layer");
  auto options = std::make_shared<VerifyModelsOptions>();
  addVerifyOptions(*command, *options);
  command->callback([options] {
    finish(verifyModels(*options, options->model.empty() ? "generated models" : options->model,
                        verifyPipeline));
  });
}
