//===- RegisterTile.h - The inner loop of every product ---------*- C++ -*-===//
//
// A tile of `rows` x `vectors` accumulators stays in registers while k runs:
//
//   acc[r][v] += lhs(r, k) * rhs(k, v)        lhs in every lane, rhs a vector
//
// One step loads `vectors` vectors and `rows` elements for rows * vectors multiply-adds, so a tile
// as large as the registers allow is bound by arithmetic, and a tile of one row by the stream of
// rhs. GEMM, attention scores and attention's weighted sum differ only in what lhs and rhs are.
//
// A multiply-add takes several cycles and two can start in each: of a matrix of fewer than
// kManyRows rows, a tile with fewer than eight accumulators is kept in several copies ("chains"),
// which take turns and are added at the end. Of more rows every element is one sum from front to
// back, so that a row has the same bits in every tile, and wherever a matrix is cut.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Cpu/VectorBuilder.h"
#include <functional>

namespace sinter {

struct RegisterTile {
  int64_t rows = 1;
  int64_t vectors = 1;
  /// Elements of k that a step takes: 1, or 2 where pairs of bf16 are multiplied, or as many bytes
  /// as are a word.
  int64_t depth = 1;
  /// Steps whose vectors of rhs come together, as one load has them.
  int64_t together = 1;
  /// Bytes are multiplied: lhs are words of them, and accumulators integers.
  bool bytes = false;
  /// Rows of the whole matrix.
  int64_t matrixRows = 1;
  /// lhs(row, k): element (or pair) k of a row in every lane.
  std::function<mlir::Value(int64_t row, mlir::Value k)> lhs;
  /// rhs(k): `vectors` vectors, of k and of the steps that come together with it.
  std::function<llvm::SmallVector<mlir::Value>(mlir::Value k)> rhs;

  /// Most rows of a tile of this many vectors that leaves registers for the operands.
  static int64_t getMaxRows(TargetAttr target, int64_t vectors);

  /// rows * vectors zeros, row by row.
  llvm::SmallVector<mlir::Value> zeros(VectorBuilder &builder) const;

  /// Adds the products for k in [begin, end) to `accumulators` (row by row); returns their values.
  /// @pre end - begin is a multiple of depth * together.
  llvm::SmallVector<mlir::Value> accumulate(VectorBuilder &builder, mlir::Value begin,
                                            mlir::Value end, mlir::ValueRange accumulators) const;

  /// One step at k, or several that come together.
  llvm::SmallVector<mlir::Value> step(VectorBuilder &builder, mlir::Value k,
                                      mlir::ValueRange accumulators) const;
};

} // namespace sinter
