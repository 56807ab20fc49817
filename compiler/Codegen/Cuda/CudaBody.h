//===- CudaBody.h - A thread's code as CUDA C++ -----------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

namespace sinter {

/// Writes the statements of a kernel that is the code of one thread, whose arguments have these
/// names. Reports an operation or a type that has no form in CUDA C++.
mlir::LogicalResult printCudaBody(llvm::raw_ostream &out, mlir::func::FuncOp kernel,
                                  llvm::ArrayRef<std::string> arguments);

} // namespace sinter
