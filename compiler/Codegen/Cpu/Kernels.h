//===- Kernels.h - From a kernel of tensor ops to loops ---------*- C++ -*-===//
//
// One function a kind of kernel. Each is given the outlined kernel (a func.func on tensors with
// `sinter.kernel`) and an empty loop kernel
//
//   func.func @name(%a0: memref<N0xT0>, ..., %begin: index, %end: index) { return }
//
// with one flat memref of storage elements an operand, then one a result, and fills in code that
// runs the work items [begin, end): before the `return` of the entry block. Work items are
// independent of each other, so that any split over threads gives the same bits. The function
// returns how many there are, or emits a diagnostic "expected ..." and fails.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter {

/// Name of the attribute with the number of work items, on the tensor-level kernel.
inline constexpr llvm::StringLiteral kGridAttribute = "sinter.grid";
/// Name of the module that holds the loop kernels.
inline constexpr llvm::StringLiteral kKernelsModule = "kernels";

/// The module with the loop kernels inside `module`, or null.
inline mlir::ModuleOp lookupKernels(mlir::ModuleOp module) {
  return module.lookupSymbol<mlir::ModuleOp>(kKernelsModule);
}

/// Elementwise ops, index ops, row reductions, gathers and cache updates, in any combination.
mlir::FailureOr<int64_t> lowerRowsKernel(mlir::func::FuncOp tensorKernel,
                                         mlir::func::FuncOp loopKernel, const TargetAttr &target);

/// One `embedding_grad`.
mlir::FailureOr<int64_t> lowerScatterKernel(mlir::func::FuncOp tensorKernel,
                                            mlir::func::FuncOp loopKernel);

/// Whether the rows generator has a case for an op (fused with others, its operands and results
/// of any shape). Fusion asks this of every op that it puts into a fusion of kind "rows". More
/// rules are the fusion's: a `cache_append` and a sum over columns are results of their fusion, not
/// used inside it, an `embedding_grad` is alone, and a constant is a splat.
bool canGenerateRows(mlir::Operation *op);

/// One matmul and its epilogue.
mlir::FailureOr<int64_t> lowerGemmKernel(mlir::func::FuncOp tensorKernel,
                                         mlir::func::FuncOp loopKernel, const TargetAttr &target);

/// One attention.
mlir::FailureOr<int64_t> lowerAttentionKernel(mlir::func::FuncOp tensorKernel,
                                              mlir::func::FuncOp loopKernel,
                                              const TargetAttr &target);

/// The gradients of one attention.
mlir::FailureOr<int64_t> lowerAttentionGradKernel(mlir::func::FuncOp tensorKernel,
                                                  mlir::func::FuncOp loopKernel,
                                                  const TargetAttr &target);

} // namespace sinter
