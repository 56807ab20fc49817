//===- Passes.h - Element types ---------------------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace sinter {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Precision/Passes.h.inc"

/// Options of the phase, on the command line those of `sinter-precision-pipeline`.
struct PrecisionOptions : mlir::PassPipelineOptions<PrecisionOptions> {
  Option<std::string> computeType{*this, "compute-type",
                                  llvm::cl::desc("Element type of products: f32 or bf16"),
                                  llvm::cl::init("f32")};
  Option<std::string> cacheType{*this, "cache-type",
                                llvm::cl::desc("Element type of KV caches: f32, bf16, f16, int8 or "
                                               "fp8"),
                                llvm::cl::init("f32")};
  Option<bool> tf32{*this, "tf32",
                    llvm::cl::desc("Products of f32 may round their operands to TF32"),
                    llvm::cl::init(false)};
  Option<std::string> weights{*this, "weights",
                              llvm::cl::desc("Weights of products: stored, float, int8 or int4"),
                              llvm::cl::init("stored")};
  Option<int64_t> group{*this, "group",
                        llvm::cl::desc("Elements of a weight's row that share a scale"),
                        llvm::cl::init(32)};
  Option<std::string> activations{
      *this, "activations",
      llvm::cl::desc("What weights of 8 bits multiply: stored, float or int8"),
      llvm::cl::init("stored")};
  Option<bool> head{*this, "quantize-head",
                    llvm::cl::desc("Quantize the weights of the last product, too"),
                    llvm::cl::init(false)};
};

/// Chooses element types and checks them.
void buildPrecisionPipeline(mlir::OpPassManager &manager, const PrecisionOptions &options);

/// Registers `sinter-precision-pipeline`.
void registerPrecisionPipeline();
} // namespace sinter
