//===- VerifyModels.h - What verify and verify-pass look at -----*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Verify.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/Model.h"
#include <functional>

namespace sinter::cli {

struct VerifyModelsOptions : ModelOptions {
  std::optional<double> tolerance;
  std::string reproducer;
  int64_t layers = 2; ///< of a model that has more, the first ones are checked
};

/// Adds the options, with MODEL as one that may be left out.
void addVerifyOptions(CLI::App &command, VerifyModelsOptions &options);

/// Checks one compilation.
using VerifyRequest = std::function<Expected<std::vector<Verdict>>(const CompileRequest &request,
                                                                   const VerifyOptions &options)>;

/// Checks the inference and the training entries of MODEL, or of small models that together hold
/// every kind of op where there is none, and prints the verdicts. Fails where one is wrong, with a
/// small module that shows it printed or written; errors begin with `what`.
Expected<void> verifyModels(const VerifyModelsOptions &options, const std::string &what,
                            const VerifyRequest &verify);

} // namespace sinter::cli
