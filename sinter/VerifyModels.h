//===- VerifyModels.h - The compiler checked on models ----------*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Verify.h"
#include "sinter/Compile.h"

namespace sinter {

struct VerifyModelsOptions : RunOptions {
  VerifyModelsOptions() { batch = 2; }

  std::optional<double> tolerance; ///< largest relative error that passes
  int64_t layers = 2;              ///< of a model that has more, the first ones are checked
};

/// A verdict on a model.
struct ModelVerdict {
  std::string model; ///< its family
  Verdict verdict;
};

/// Checks one compilation: verifyPipeline, or verifyPass for a pass.
using VerifyRequest = std::function<Expected<std::vector<Verdict>>(const CompileRequest &request,
                                                                   const VerifyOptions &options)>;

/// Checks the inference and the training entries of a model, or, without one, of small models that
/// together hold every kind of op. Executables run in a process of their own.
/// @pre no other thread runs
Expected<std::vector<ModelVerdict>> verifyModels(const std::optional<Model> &model,
                                                 const VerifyModelsOptions &options,
                                                 const VerifyRequest &verify);

} // namespace sinter
