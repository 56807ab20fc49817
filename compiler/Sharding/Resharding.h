//===- Resharding.h - From one sharding of a value to another ---*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// A value of the program of one rank: its part of a tensor of type `whole`.
struct ShardedValue {
  mlir::Value part;
  mlir::RankedTensorType whole;
  ShardingAttr sharding;
};

/// Builds the collectives that bring values from one sharding to another, each with a remark that
/// says what it sends.
class Resharder {
public:
  /// @param library terms are added by the library, in an order of its own.
  Resharder(GridAttr grid, bool library) : grid(grid), library(library) {}

  /// The value under another sharding, without unreduced axes, which are the value's or none.
  mlir::Value reshard(mlir::OpBuilder &builder, mlir::Location loc, const ShardedValue &value,
                      ShardingAttr target) const;

private:
  /// All of a dimension that is split along `axes`, of `extent` elements.
  mlir::Value gather(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value part, int64_t dim,
                     mlir::ArrayAttr axes, int64_t extent) const;
  /// The rank's part of a dimension that it has all of.
  mlir::Value split(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value whole, int64_t dim,
                    mlir::ArrayAttr axes) const;
  /// The rank's part of dimension `to`, of which it has all, for all of dimension `from`, of
  /// `extent` elements, which is split along `axes`.
  mlir::Value exchange(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value part, int64_t from,
                       int64_t extent, int64_t to, mlir::ArrayAttr axes) const;
  /// Of terms along `axes` the sum, split by its first dimension along them.
  mlir::Value reduceScatter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value term,
                            mlir::ArrayAttr axes) const;
  /// Of terms along `axes` the sum.
  mlir::Value reduce(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value term,
                     mlir::ArrayAttr axes) const;
  /// The sum of the entries of a first dimension, in the order of the tree.
  static mlir::Value addParts(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value parts);
  template <typename Op>
  mlir::Value move(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value operand,
                   mlir::ArrayAttr axes, mlir::RankedTensorType result) const;

  GridAttr grid;
  bool library;
};

} // namespace sinter
