//===- Passes.h - From a loss to a training step ----------------*- C++ -*-===//
#pragma once

#include "compiler/Autodiff/OptimizerOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Autodiff/Passes.h.inc"

/// The pass with these options, and what is split along the axis data (CompileOptions.def).
std::unique_ptr<mlir::Pass> createApplyOptimizerPass(const OptimizerOptions &options, int64_t zero);

/// Turns entries that end in a loss into training steps; what infers is left alone.
void buildAutodiffPipeline(mlir::OpPassManager &manager, const OptimizerOptions &optimizer,
                           int64_t zero, const RematerializePassOptions &rematerialize);
} // namespace sinter
