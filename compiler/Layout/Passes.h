//===- Passes.h - How values lie in memory ----------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Layout/Passes.h.inc"

/// Gives weights, caches and results the layouts that the target's kernels want, and hoists what
/// depends on weights alone, with that, to a program that runs once. The module needs a target
/// (`sinter.target`).
void buildLayoutPipeline(mlir::OpPassManager &manager);

/// Registers `sinter-layout-pipeline`.
void registerLayoutPipeline();
} // namespace sinter
