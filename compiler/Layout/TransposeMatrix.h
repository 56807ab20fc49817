//===- TransposeMatrix.h - The other way round, part by part ----*- C++ -*-===//
#pragma once

#include "mlir/IR/Builders.h"

namespace sinter {

/// A matrix, transposed. Of one that is put together of others each part is transposed, so that it
/// still is one of whole parts: packing takes these from where they lie.
mlir::Value transposeMatrix(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value matrix);

} // namespace sinter
