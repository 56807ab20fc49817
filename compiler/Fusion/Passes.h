//===- Passes.h - What becomes one kernel -----------------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Fusion/Passes.h.inc"

/// Forms fusions and outlines kernels. The module needs a target (`sinter.target`). With every
/// speed pass left out, each op is a kernel.
void buildFusionPipeline(mlir::OpPassManager &manager);

/// Registers `sinter-fusion-pipeline`.
void registerFusionPipeline();
} // namespace sinter
