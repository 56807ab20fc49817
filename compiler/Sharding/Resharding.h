//===- Resharding.h - From one sharding of a value to another ---*- C++ -*-===//
//
// A resharding is the shortest path over shardings, by moves of a dimension's last axes:
//
//   gather     [[a, b], []] -> [[a], []]      what the ranks along b have
//   slice      [[a], []] -> [[a, b], []]      nothing is sent
//   exchange   [[a, b], []] -> [[a], [b]]     a part of what each has to each other rank along b
//   reduce     terms along a -> the sum, whole or with a dimension split along a
//
// each as long as a rank's bytes to others and the copies before and behind them take, and a
// message to start. A dimension that does not divide is split along all of its axes or along none.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Analysis/CostModel.h"
#include <map>

namespace sinter {

/// Up to here what is sent matters less than how often ranks wait: terms are gathered and added by
/// every rank, and nobody is told of what has to be gathered.
inline constexpr int64_t kGatheredBytes = 64 << 10;

/// What moving bytes between ranks is taken to cost, in nanoseconds; of a machine that nothing is
/// known of (no target), in parts of a move.
struct MoveCosts {
  explicit MoveCosts(TargetAttr target);

  double sentNs = 1, copiedNs = 0.25; ///< a byte that is sent, that is copied
  double startNs = 1;                 ///< a move
};

/// Whether a value is an argument of its function, or a cast of one.
bool isOfArgument(mlir::Value value);

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
  /// @param target null: of a machine that nothing is known of, moves are told apart by bytes
  /// alone.
  /// @param library terms are added by the library, in an order of its own.
  Resharder(GridAttr grid, TargetAttr target, bool library);

  /// The value under another sharding, without unreduced axes, which are the value's or none.
  mlir::Value reshard(mlir::OpBuilder &builder, mlir::Location loc, const ShardedValue &value,
                      ShardingAttr target);

  /// What that is predicted to take a tensor of type `whole`.
  double getNs(mlir::RankedTensorType whole, ShardingAttr from, ShardingAttr to);

private:
  struct Move {
    enum class Kind { Gather, Slice, Exchange, Reduce, ReduceScatter };
    Kind kind;
    int64_t dim = 0, to = 0; ///< of a gather, a slice or an exchange; of an exchange
    mlir::ArrayAttr axes;
    ShardingAttr before, after;
  };
  struct Path {
    double ns = 0;
    llvm::SmallVector<Move> moves;
  };

  const Path &findPath(mlir::RankedTensorType whole, ShardingAttr from, ShardingAttr to);
  /// The moves from a sharding on the way to `target`.
  llvm::SmallVector<Move> listMoves(mlir::RankedTensorType whole, ShardingAttr from,
                                    ShardingAttr target) const;
  double getNs(mlir::RankedTensorType whole, const Move &move) const;
  /// Whether a dimension may be split along these axes, or along the first of them alone.
  bool mayEnd(int64_t extent, mlir::ArrayAttr axes) const;
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value part,
                    mlir::RankedTensorType whole, const Move &move) const;
  /// Of terms along `axes` the sum, of which `dim` is split along them.
  mlir::Value reduceScatter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value term,
                            int64_t dim, mlir::ArrayAttr axes) const;
  /// Of terms along `axes` the sum.
  mlir::Value reduce(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value term,
                     mlir::ArrayAttr axes) const;
  template <typename Op>
  mlir::Value move(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value operand,
                   mlir::ArrayAttr axes, mlir::RankedTensorType result) const;

  GridAttr grid;
  MoveCosts costs;
  bool library;
  std::map<std::array<const void *, 3>, Path> known;
};

} // namespace sinter
