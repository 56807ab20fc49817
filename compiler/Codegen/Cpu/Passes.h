//===- Passes.h - Kernels to machine code -----------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Codegen/Cpu/Passes.h.inc"

/// Switches of the phase's speed passes.
struct CodegenOptions : mlir::PassPipelineOptions<CodegenOptions> {};

/// Kernels on tensors to loops and those to the LLVM dialect, in the module `@kernels`.
void buildCodegenPipeline(mlir::OpPassManager &manager, const CodegenOptions &options);
} // namespace sinter
