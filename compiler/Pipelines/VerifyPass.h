//===- VerifyPass.h - Checking passes against the reference -----*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Compile.h"

namespace sinter {

/// What to check.
struct PassCheck {
  std::string pass;  ///< argument of a pass of the pipeline or of a plugin, or "all"
  std::string after; ///< the phase after which a pass that is not in the pipeline runs
  double tolerance = 1e-9;
  uint64_t seed = 0;
};

/// How one entry fared under one pass.
struct PassVerdict {
  std::string pass;
  std::string entry;
  bool holds = false;
  double error = 0;       ///< ||after - before|| / ||before||, the worst result
  std::string message;    ///< where there is no error to state
  std::string reproducer; ///< MLIR text of a small module that fails; empty where the pass holds
};

/// Runs the pipeline of `request` up to the pass, then the pass, and compares what every entry
/// computes before and after it by the reference evaluator, on generated inputs. A failure comes
/// with a reduced module. "all" checks every pass up to Fusion; those after it work on loops and
/// commands, which the reference does not evaluate, and are refused.
Expected<std::vector<PassVerdict>> verifyPass(const CompileRequest &request,
                                              const PassCheck &check);

} // namespace sinter
