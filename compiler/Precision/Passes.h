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
/// @param products how products of a training step multiply fp8; none: they do not.
void buildPrecisionPipeline(mlir::OpPassManager &manager, const PrecisionOptions &options,
                            const std::optional<QuantizeProductsPassOptions> &products = {});

/// Registers `sinter-precision-pipeline`.
void registerPrecisionPipeline();
} // namespace sinter
