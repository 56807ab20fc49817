//===- Pipeline.h - All phases as one list of passes ------------*- C++ -*-===//
//
// The pipeline is data: a list of passes, each with its phase and its text. What runs it, what
// stops in the middle, what leaves a pass out, what checks every pass against the reference and
// what prints it all read the same list.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Pipelines/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/Base/Error.h"
#include <string>
#include <vector>

namespace sinter {

enum class Phase {
#define SINTER_PHASE(name) name,
#include "compiler/Pipelines/Phases.def"
};

/// "Import", "Precision", ...
llvm::StringRef stringifyPhase(Phase phase);

/// The phase of this name, in any case, or an error that lists them.
Expected<Phase> parsePhase(llvm::StringRef name);

/// One pass of the pipeline.
struct PassStep {
  Phase phase;
  std::string argument; ///< "sinter-form-fusions"
  std::string text; ///< with its options, as --pass-pipeline takes it inside builtin.module(...)
  /// Whether the IR is verified behind it: of a phase's own passes, that are verified one by one in
  /// their tests, behind the last.
  bool verifies = true;
  /// Whether programs compute the same without it: speed passes, what only cleans up, and what the
  /// user added.
  bool optional = true;
};

/// Whether a pass may be left out without changing what programs compute.
bool isSpeedPass(llvm::StringRef argument);

/// The passes of all phases up to and with `last`, in order. `release` bytes are recomputed in the
/// backward pass instead of kept. Fails on an unknown phase or pass and on a disabled pass that is
/// not a speed pass.
/// @pre registerEverything or registerPasses was called.
Expected<std::vector<PassStep>> listPasses(const CompileOptions &options, Phase last,
                                           int64_t release = 0);

/// Runs one pass of the list, and verifies what it leaves where the step says so.
mlir::LogicalResult runPass(mlir::ModuleOp module, const PassStep &step);

} // namespace sinter
