//===- Passes.h - From a loss to a training step ----------------*- C++ -*-===//
#pragma once

#include "compiler/Autodiff/OptimizerOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Autodiff/Passes.h.inc"

/// The pass with these options.
std::unique_ptr<mlir::Pass> createApplyOptimizerPass(const OptimizerOptions &options);

/// Turns entries that end in a loss into training steps; what infers is left alone.
void buildAutodiffPipeline(mlir::OpPassManager &manager, const OptimizerOptions &optimizer,
                           const RematerializePassOptions &rematerialize);
} // namespace sinter
