//===- Passes.h - Where every byte of a step lives --------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Memory/Passes.h.inc"

/// Gives every slice its place.
void buildMemoryPipeline(mlir::OpPassManager &manager);
} // namespace sinter
