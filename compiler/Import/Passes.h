//===- Passes.h - Accepting frontend IR -------------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Import/Passes.h.inc"

/// Folds and canonicalizes what a frontend built, then checks it.
void buildImportPipeline(mlir::OpPassManager &manager);
} // namespace sinter
