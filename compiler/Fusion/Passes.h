//===- Passes.h - What becomes one kernel -----------------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Fusion/Passes.h.inc"

/// Options of the phase, on the command line those of `sinter-fusion-pipeline`.
struct FusionOptions : mlir::PassPipelineOptions<FusionOptions> {
  ListOption<std::string> disabledPasses{
      *this, "disabled-passes",
      llvm::cl::desc("Speed passes to leave out, by argument: sinter-merge-matmuls, "
                     "sinter-sink-row-selection, sinter-hoist-parameters, sinter-form-fusions, "
                     "sinter-absorb-norms, sinter-select-library-gemm")};
};

/// Merges products, hoists what depends on parameters, forms fusions and outlines kernels. The
/// module needs a target (`sinter.target`). With every speed pass left out, each op is a kernel.
void buildFusionPipeline(mlir::OpPassManager &manager, const FusionOptions &options);

/// Registers `sinter-fusion-pipeline`.
void registerFusionPipeline();
} // namespace sinter
