//===- LaneLoads.h - Vectors of elements that lie near --------*- C++ -*-===//
#pragma once

#include "mlir/IR/Builders.h"

namespace sinter {

/// The elements of `memory` (a flat memref) at `index` + each of `distances`, a lane each: one or
/// two vectors are loaded, from the first element that a lane needs to the last, and shuffled, as
/// for 0, 0, 1, 1, ..., for 0, 2, 4, ..., or for 0, 1024, 1, 1025, ... Null where they lie further
/// apart.
mlir::Value loadLanes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memory,
                      mlir::Value index, llvm::ArrayRef<int64_t> distances);

/// index + distance.
mlir::Value offsetBy(mlir::OpBuilder &builder, mlir::Value index, int64_t distance);

/// A vector of numbers (an integer or index type): `first` + each of `distances`.
mlir::Value addDistances(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value first,
                         llvm::ArrayRef<int64_t> distances);

} // namespace sinter
