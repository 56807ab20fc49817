//===- WeightValues.h - What depends on weights alone -----------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace sinter {

/// The values of an entry that depend on parameters and constants alone, those included.
llvm::DenseSet<mlir::Value> findParameterValues(mlir::func::FuncOp entry);

/// The same with states among what the values are computed from: in a training step parameters are
/// states, and what is computed from them alone is the same wherever in the step it is computed.
llvm::DenseSet<mlir::Value> findWeightValues(mlir::func::FuncOp entry);

/// The only numbers that a matrix of bytes has, where it is moved from parameters that all say the
/// same ones (`sinter.values`); null elsewhere.
mlir::DenseI8ArrayAttr findCodeValues(mlir::Value matrix);

} // namespace sinter
