//===- LhsScratch.h - What a product keeps of its rows ----------*- C++ -*-===//
//
// What the tiles of a block of columns need of a few rows of the left-hand side beside, or instead
// of, their elements: made once for all columns of a work item.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Cpu/VectorBuilder.h"
#include <functional>

namespace sinter {

/// Where element k of a row is in the memory of the left-hand side.
using LhsPlace = std::function<mlir::Value(int64_t row, mlir::Value k)>;

/// Rows of bytes as the words that are multiplied (VectorBuilder::byteDot).
class ByteRows {
public:
  /// @param depth the most k of a copy, a multiple of 32; @param k of a whole row
  ByteRows(VectorBuilder &builder, int64_t rows, int64_t depth, int64_t k);

  /// Copies bytes [kBegin, kEnd) of rows; beyond the last k there are any, which only zeros meet.
  void copy(mlir::Value lhs, const LhsPlace &place, int64_t rows, mlir::Value kBegin,
            mlir::Value kEnd);

  /// The word at k in every lane.
  mlir::Value getSplat(int64_t row, mlir::Value k) const;

private:
  VectorBuilder &builder;
  int64_t rowWords, k;
  mlir::Value words, begin;
};

/// Rows times a power of two each, for products with numbers of e4m3 that are widened to 2^-120 of
/// themselves (VectorBuilder::widenE4M3): the largest number of a row is lifted to about 2^100, so
/// that nothing on the way is too small for an f32 whose like the row's numbers are not.
class LiftedRows {
public:
  /// @param depth the most k of a copy; @param k of a whole row
  LiftedRows(VectorBuilder &builder, int64_t rows, int64_t depth, int64_t k);
  /// Bytes that are kept of k elements of a row.
  static int64_t getBytes(int64_t k) { return 4 * k; }

  /// Copies elements [kBegin, kEnd) of rows.
  void lift(mlir::Value lhs, const LhsPlace &place, int64_t rows, mlir::Value kBegin,
            mlir::Value kEnd);

  /// The lifted element at k in every lane.
  mlir::Value getSplat(int64_t row, mlir::Value k) const;
  /// What makes 2^-24 of the rows' products out of those of lifted rows, in every lane. The rest
  /// is for the scales of weights: all of it would be no f32.
  mlir::Value getFactor(int64_t row) const;

private:
  mlir::Value at(int64_t row, mlir::Value k) const;

  VectorBuilder &builder;
  int64_t rowElements, k;
  mlir::Value lifted, factors, begin;
};

/// Sums of rows over groups of k, by which minima are multiplied.
class GroupSums {
public:
  /// @param depth the most k of which there are sums, whole groups
  GroupSums(VectorBuilder &builder, int64_t rows, int64_t depth, int64_t group);

  /// Sums the groups of [kBegin, kEnd).
  void sum(mlir::Value lhs, const LhsPlace &place, int64_t rows, mlir::Value kBegin,
           mlir::Value kEnd);

  /// The sum of the group that begins at k in every lane.
  mlir::Value getSplat(int64_t row, mlir::Value k) const;

private:
  mlir::Value at(int64_t row, mlir::Value k) const;

  VectorBuilder &builder;
  int64_t rowGroups, group;
  mlir::Value sums, begin;
};

/// The rows of an item of a transposed left-hand side, as its tiles read them: the elements that a
/// tile has of each k are neighbours.
class TransposedRows {
public:
  /// @param blockRows of an item, whole tiles; @param depth the most k of a copy
  TransposedRows(VectorBuilder &builder, int64_t tileRows, int64_t blockRows, int64_t depth);

  /// Copies the item's elements of k in [kBegin, kEnd).
  /// @param place where the memory has the item's first row of a k; the others follow it
  /// @param rowsLeft from the item's first row on, null where all items have whole blocks
  void copy(mlir::Value lhs, llvm::function_ref<mlir::Value(mlir::Value k)> place,
            mlir::Value rowsLeft, mlir::Value kBegin, mlir::Value kEnd);

  /// The element at k of a row of a tile, counted in the item, in every lane.
  mlir::Value getSplat(mlir::Value tile, int64_t row, mlir::Value k) const;

private:
  VectorBuilder &builder;
  int64_t tileRows, blockRows, tileElements;
  mlir::Value rows, begin;
};

} // namespace sinter
