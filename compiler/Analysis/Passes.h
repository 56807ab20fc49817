//===- Passes.h - Saying what a module is compiled for ----------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Analysis/Passes.h.inc"
} // namespace sinter
