//===- CudaPrinter.h - Kernels as CUDA C++ ----------------------*- C++ -*-===//
//
// Writes one kernel of `@kernels` (Kernels.h) as the text that a person would have written:
// expressions instead of one name an operation, loops with their counters, sums that are added to.
// What an operation of the device's is called stands in kernels_templates/cuda/device.cuh.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Cuda/Kernels.h"
#include "llvm/Support/raw_ostream.h"

namespace sinter {

/// Writes a kernel, generated or instantiated from a template, with what it computes as a comment.
/// Reports an operation or a type that has no form in CUDA C++.
mlir::LogicalResult printCudaKernel(llvm::raw_ostream &out, mlir::func::FuncOp tensorKernel,
                                    mlir::func::FuncOp kernel);

} // namespace sinter
