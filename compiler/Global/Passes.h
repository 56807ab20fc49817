//===- Passes.h - What restructures the whole graph -------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Global/Passes.h.inc"

/// Merges products and selects rows before work is done on them. The module needs a target
/// (`sinter.target`), and its values are dense before and behind it.
void buildGlobalPipeline(mlir::OpPassManager &manager);

/// Registers `sinter-global-pipeline`.
void registerGlobalPipeline();
} // namespace sinter
