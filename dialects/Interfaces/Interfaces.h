//===- Interfaces.h - What phases ask of ops --------------------*- C++ -*-===//
#pragma once

#include "dialects/Interfaces/Adjoint.h"
#include "dialects/Interfaces/LoopNest.h"
#include "dialects/Interfaces/ReferenceTensor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace sinter {

/// The part that an op can play in a fused kernel; see FusibleOpInterface.
enum class FusionRole {
  Elementwise,
  RowReduction,
  ColumnReduction,
  PartReduction,
  Index,
  Gather,
  Update,
  Contraction,
  GroupedContraction,
  Attention,
  AttentionGrad,
  Opaque
};

/// The name of a role, for remarks: "elementwise", "row reduction", ...
llvm::StringRef stringifyFusionRole(FusionRole role);

/// The type of a tensor.
inline mlir::RankedTensorType typeOf(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType());
}

/// Bytes that a value of this type takes in memory, layout and padding included.
/// @pre `type` is a statically shaped ranked tensor.
int64_t getStorageBytes(mlir::Type type);

/// From a logical index of a tensor of this type to the element's offset in storage.
mlir::AffineMap getOffsetMap(mlir::RankedTensorType type);

/// Sum of getStorageBytes over operands and results.
int64_t getOperandAndResultBytes(mlir::Operation *op);

} // namespace sinter

#include "dialects/Interfaces/AttrInterfaces.h.inc"
#include "dialects/Interfaces/OpInterfaces.h.inc"
