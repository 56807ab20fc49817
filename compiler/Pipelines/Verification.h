//===- Verification.h - Comparing at any point of a pipeline ----*- C++ -*-===//
#pragma once

#include "compiler/Pipelines/Compilation.h"
#include "compiler/Pipelines/Verify.h"
#include "compiler/Reference/Differential.h"

namespace sinter {

/// The last phase that changes graph ops, which the reference evaluates.
inline constexpr Phase kLastGraphPhase = Phase::Fusion;

/// What checks of single passes and of pipelines share: a compilation whose steps return logits.
class Verification {
public:
  Verification(const CompileRequest &request, const VerifyOptions &options);

  /// Builds the graph.
  Expected<void> begin();

  Compilation &getCompilation() { return compilation; }
  /// Why nothing here runs an executable: a GPU that is not there, ranks; nothing if something
  /// does.
  std::string getReasonNotToRun();

  /// How far apart the module before one of these passes and the one behind it may be.
  DifferentialOptions getOptions(llvm::ArrayRef<PassStep> passes) const;

  /// Compares the entries of a graph before and after a pass.
  Differences compareGraphs(mlir::ModuleOp before, const PassStep &step) const;

  /// Compares the entries of a graph after Fusion with the executable that `steps`, the rest of the
  /// pipeline, make of it.
  Differences compareExecutable(mlir::ModuleOp fused, llvm::ArrayRef<PassStep> steps) const;

  /// The verdict on what `step` makes of a graph; of a failure, with the smallest module found that
  /// shows it.
  Verdict judge(const Difference &difference, const PassStep &step, mlir::ModuleOp before) const;

  /// The verdict on an entry that the executable which `steps` make of a graph after Fusion does
  /// not compute, with the smallest module found that shows it: names the pass that makes it so, by
  /// leaving out the optional ones from the last on.
  Verdict blame(const Difference &difference, mlir::ModuleOp fused,
                llvm::ArrayRef<PassStep> steps) const;

private:
  std::optional<size_t> findCulprit(mlir::ModuleOp fused, llvm::ArrayRef<PassStep> steps,
                                    llvm::StringRef entry) const;
  Verdict describe(const Difference &difference, const PassStep &step, mlir::ModuleOp reduced,
                   llvm::ArrayRef<PassStep> run) const;
  Difference compareEntry(mlir::ModuleOp fused, llvm::ArrayRef<PassStep> steps,
                          llvm::StringRef entry) const;
  Expected<std::vector<std::byte>> compileRest(mlir::ModuleOp fused,
                                               llvm::ArrayRef<PassStep> steps) const;
  Difference compareRun(mlir::ModuleOp fused, llvm::StringRef entry,
                        std::span<const std::byte> executable) const;
  /// Whether the options ask for roundings beyond those of f32.
  bool isNarrow() const {
    const CompileOptions &options = request.options;
    return options.getComputeType() != DType::F32 || sizeOf(options.getCacheType()) == 1 ||
           options.tf32 || options.weights.starts_with("int") || options.weights == "fp8" ||
           options.activations == "int8" || options.training.fp8 != "none" ||
           llvm::any_of(request.integerFormats,
                        [](const auto &format) { return format.second.roundsRows; });
  }

  CompileRequest request;
  const VerifyOptions &options;
  Compilation compilation;
  EntryInputs inputs;
};

/// The verdict on how an entry fared under a pass, without what there is to say of a failure.
Verdict makeVerdict(const Difference &difference, const PassStep &step);

/// Those of some steps that belong to graph phases, or to later ones.
std::vector<PassStep> selectSteps(llvm::ArrayRef<PassStep> steps, bool graphs);

} // namespace sinter
