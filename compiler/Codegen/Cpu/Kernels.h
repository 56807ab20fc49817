//===- Kernels.h - Kernels that are generated for CPUs alone ----*- C++ -*-===//
//
// The functions have the form that compiler/Codegen/Loops/Kernels.h tells.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Loops/Kernels.h"

namespace sinter {

/// One `embedding_grad`.
mlir::FailureOr<int64_t> lowerScatterKernel(mlir::func::FuncOp tensorKernel,
                                            mlir::func::FuncOp loopKernel);

/// One `sample`.
mlir::FailureOr<int64_t> lowerSampleKernel(mlir::func::FuncOp tensorKernel,
                                           mlir::func::FuncOp loopKernel, const TargetAttr &target);

/// One matmul and its epilogue.
mlir::FailureOr<int64_t> lowerGemmKernel(mlir::func::FuncOp tensorKernel,
                                         mlir::func::FuncOp loopKernel, const TargetAttr &target);

/// One grouped_matmul.
mlir::FailureOr<int64_t> lowerGroupedGemmKernel(mlir::func::FuncOp tensorKernel,
                                                mlir::func::FuncOp loopKernel,
                                                const TargetAttr &target);

/// One grouped_outer.
mlir::FailureOr<int64_t> lowerGroupedOuterKernel(mlir::func::FuncOp tensorKernel,
                                                 mlir::func::FuncOp loopKernel,
                                                 const TargetAttr &target);

/// One top_k or route.
mlir::FailureOr<int64_t> lowerRoutingKernel(mlir::func::FuncOp tensorKernel,
                                            mlir::func::FuncOp loopKernel,
                                            const TargetAttr &target);

/// One attention.
mlir::FailureOr<int64_t> lowerAttentionKernel(mlir::func::FuncOp tensorKernel,
                                              mlir::func::FuncOp loopKernel,
                                              const TargetAttr &target);

/// One linear_attention.
mlir::FailureOr<int64_t> lowerLinearAttentionKernel(mlir::func::FuncOp tensorKernel,
                                                    mlir::func::FuncOp loopKernel,
                                                    const TargetAttr &target);

/// The gradients of one linear_attention.
mlir::FailureOr<int64_t> lowerLinearAttentionGradKernel(mlir::func::FuncOp tensorKernel,
                                                        mlir::func::FuncOp loopKernel,
                                                        const TargetAttr &target);

/// The gradients of one attention.
mlir::FailureOr<int64_t> lowerAttentionGradKernel(mlir::func::FuncOp tensorKernel,
                                                  mlir::func::FuncOp loopKernel,
                                                  const TargetAttr &target);

} // namespace sinter
