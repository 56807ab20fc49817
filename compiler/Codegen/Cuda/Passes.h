//===- Passes.h - Kernels to the code of CUDA threads -----------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Codegen/Cuda/Passes.h.inc"

/// Kernels on tensors to the code of CUDA threads, in the module `@kernels`; emitCudaPrograms
/// (CudaProgram.h) writes that as CUDA C++. With `tune`, kernels of templates get alternatives that
/// the device chooses among.
void buildCudaCodegenPipeline(mlir::OpPassManager &manager, bool tune = false);
} // namespace sinter
