//===- Passes.h - From graph to plan ----------------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Schedule/Passes.h.inc"

/// What of the Schedule phase is left out or added.
struct ScheduleOptions {
  bool orderCommands = true;
  bool libraryAttention = false; ///< the device may choose the library's
};

/// Turns entries into programs of commands, in an order that keeps memory low.
void buildSchedulePipeline(mlir::OpPassManager &manager, const ScheduleOptions &options = {});
} // namespace sinter
