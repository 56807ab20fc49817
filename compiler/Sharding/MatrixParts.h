//===- MatrixParts.h - Dimensions that matrices are split along -*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include <optional>

namespace sinter {

/// The dimension of a matrix that is the columns of the products that read it in the forward pass,
/// through ops that have no other operand and, where they regroup them (columns as heads), leave
/// `ranks` equal parts; nothing where something else reads it there, too, but a lookup of a table's
/// rows.
std::optional<int64_t> findColumns(mlir::Value matrix, int64_t ranks);

/// The axis of a grid along which matrices are split by columns.
llvm::StringRef getColumnAxis(GridAttr grid);

/// Whether ops can make parts of a value along a dimension, back to those that read tensors of
/// other types.
bool isMadeInParts(mlir::Value value, int64_t dim);

} // namespace sinter
