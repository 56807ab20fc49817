//===- Pipeline.h - All phases as one list of passes ------------*- C++ -*-===//
//
// The pipeline is data: a list of passes, each with its phase and its text. What runs it, what
// stops in the middle, what leaves a pass out, what checks every pass against the reference and
// what prints it all read the same list.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Pipelines/Compile.h"
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

/// What may differ between two pipelines.
struct PipelineOptions {
  std::string computeType = "f32";         ///< f32, bf16 or f16
  std::string cacheType = "f32";           ///< f32, bf16 or (of a GPU) f16
  bool tf32 = false;                       ///< products of f32 may round their operands to TF32
  bool gpu = false;                        ///< the target is one
  bool tune = false;                       ///< the device chooses between ways of doing the same
  TrainingOptions training;                ///< of entries that end in a loss
  int64_t release = 0;                     ///< bytes to recompute in the backward pass, not to keep
  std::vector<std::string> disabledPasses; ///< arguments of speed passes to leave out
  std::vector<std::string> addedPasses;    ///< "after:<Phase>:<pass>"
};

/// Whether a pass may be left out without changing what programs compute.
bool isSpeedPass(llvm::StringRef argument);

/// The passes of all phases up to and with `last`, in order. Fails on an unknown phase or pass and
/// on a disabled pass that is not a speed pass.
/// @pre registerEverything or registerPasses was called.
Expected<std::vector<PassStep>> listPasses(const PipelineOptions &options, Phase last);

/// Runs one pass of the list, and verifies what it leaves where the step says so.
mlir::LogicalResult runPass(mlir::ModuleOp module, const PassStep &step);

} // namespace sinter
