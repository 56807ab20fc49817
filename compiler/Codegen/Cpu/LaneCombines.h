//===- LaneCombines.h - Lanes, and sums and maxima over them ----*- C++ -*-===//
#pragma once

#include "mlir/IR/Builders.h"

namespace sinter {

/// A number in every lane.
mlir::Value broadcastLanes(mlir::OpBuilder &builder, mlir::Value scalar, int64_t lanes);

/// Whether a constant mask switches a lane off; no mask does.
bool isLaneOff(mlir::Value mask, int64_t lane);

/// Two values combined as `combine` does, a floating-point addition or maximum.
mlir::Value applyCombine(mlir::OpBuilder &builder, mlir::Operation *combine, mlir::Value a,
                         mlir::Value b);

/// The value that changes nothing.
mlir::Value getNeutral(mlir::OpBuilder &builder, mlir::Operation *combine);

/// All lanes of some vectors combined: vectors pairwise, then halves of the vector pairwise, which
/// is a fixed tree. @pre there is a power of two of vectors and of lanes
mlir::Value foldLanes(mlir::OpBuilder &builder, mlir::Operation *combine,
                      llvm::SmallVector<mlir::Value> vectors, int64_t lanes);

} // namespace sinter
