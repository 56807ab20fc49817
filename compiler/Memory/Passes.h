//===- Passes.h - Where every byte of a step lives --------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Memory/Passes.h.inc"

/// What of the Memory phase can be switched off.
struct MemoryOptions {
  bool reuseInPlace = true;
  bool assignStreams = true;
};

/// Gives every slice its place.
void buildMemoryPipeline(mlir::OpPassManager &manager, const MemoryOptions &options = {});
} // namespace sinter
