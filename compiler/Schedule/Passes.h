//===- Passes.h - From graph to plan ----------------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Schedule/Passes.h.inc"

/// Turns entries into programs of commands, in an order that keeps memory low. With
/// `libraryAttention` the device may choose the library's.
void buildSchedulePipeline(mlir::OpPassManager &manager, bool libraryAttention = false);
} // namespace sinter
