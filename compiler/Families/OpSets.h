//===- OpSets.h - What families ask of ops that may be a kernel -*- C++ -*-===//
#pragma once

#include "compiler/Analysis/KernelFamily.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace sinter {

/// Whether one of the ops computes a value.
bool isInside(mlir::Value value, const OpSet &ops);

/// Whether an op has a result, or a value a use, outside of the ops.
bool escapes(mlir::Value value, const OpSet &ops);
bool escapes(mlir::Operation *op, const OpSet &ops);

/// The ops that are reached from `roots` inside.
llvm::SmallPtrSet<mlir::Operation *, 16> findDownstream(llvm::ArrayRef<mlir::Operation *> roots,
                                                        const OpSet &ops);

/// Whether a type is of floating-point numbers, or of tensors of such.
bool isFloat(mlir::Type type);

/// Whether what an op is in is compiled for a GPU.
bool isForGpu(mlir::Operation *op);

/// A slice of the last dimension: whole rows stay where they are.
bool isColumnSlice(mlir::Operation *op);

} // namespace sinter
