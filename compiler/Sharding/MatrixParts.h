//===- MatrixParts.h - Dimensions that matrices are split along -*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace sinter {

/// Finds the dimension of weights that is the columns of the products that read them in the forward
/// pass: of matrices, of the scales and minima of their columns, and of what they are made of by
/// ops that read weights alone (formulas that round them) and, where they regroup columns (as
/// heads), leave equal parts.
class ColumnFinder {
public:
  /// @param ranks that columns are to be split over.
  ColumnFinder(mlir::func::FuncOp entry, int64_t ranks);

  /// The dimension of a weight; nothing where something else reads it, too, but a lookup of a
  /// table's rows.
  std::optional<int64_t> find(mlir::Value weight);

private:
  std::optional<int64_t> findInUses(mlir::Value weight);

  int64_t ranks;
  llvm::DenseSet<mlir::Value> weights; ///< and what is made of them alone
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> known;
};

/// The axis of a grid along which matrices are split by columns.
llvm::StringRef getColumnAxis(GridAttr grid);

/// Whether ops can make parts of a value along a dimension, back to those that read tensors of
/// other types.
bool isMadeInParts(mlir::Value value, int64_t dim);

} // namespace sinter
