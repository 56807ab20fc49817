//===- Passes.h - Element types ---------------------------------*- C++ -*-===//
#pragma once

#include "compiler/Precision/PrecisionOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Precision/Passes.h.inc"

/// Chooses element types and checks them.
/// @param fp8 scales of a training step's products of fp8, as sinter-quantize-products has them, or
/// none
void buildPrecisionPipeline(mlir::OpPassManager &manager, const PrecisionOptions &options,
                            const std::string &fp8 = "none");

/// Registers `sinter-precision-pipeline`.
void registerPrecisionPipeline();
} // namespace sinter
