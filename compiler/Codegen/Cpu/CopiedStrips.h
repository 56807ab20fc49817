//===- CopiedStrips.h - Columns that a product's kernel copies --*- C++ -*-===//
//
// A right-hand side that is no panels, or integers, is copied to strips of f32, as wide as a tile,
// a block of k at a time. While that block is multiplied, each tile prefetches some lines of the
// next one: all at once they fill the queue of misses and the copy waits (a twentieth of the
// products by GPT-2's embeddings on Zen 3). They go to the L2 cache: in the L1 cache they drive out
// the strip that is multiplied (as much on Emerald Rapids).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Cpu/GemmPlan.h"
#include "compiler/Codegen/Cpu/IntegerPanels.h"

namespace sinter {

class CopiedStrips {
public:
  /// @param rhs what is copied @param sets where each set of a block of columns begins
  CopiedStrips(VectorBuilder &builder, const GemmPlan &plan, mlir::Value rhs,
               llvm::ArrayRef<int64_t> sets);

  /// Copies k in [kBegin, kEnd) of a block of columns: what load() reads from then on.
  void copy(mlir::Value columnBlock, mlir::Value kBegin, mlir::Value kEnd);
  /// The same of the numbers that integers stand for, of every set of columns. Rows of a last word
  /// beyond kEnd are not read.
  void dequantize(const IntegerPanels &integers, mlir::Value kBegin, mlir::Value kEnd);

  /// Prefetches a tile's part of what copy() has next, behind kEnd or, behind all k, of the next
  /// block of columns: of each row of rhs, or of each column of a transposed one, a piece.
  void prefetchNext(mlir::Value columnBlock, mlir::Value kEnd, mlir::Value tile);

  /// Row k of a strip, counted from the first set's first one.
  llvm::SmallVector<mlir::Value> load(mlir::Value strip, mlir::Value k);

private:
  void copyDense(mlir::Value firstColumn, mlir::Value kBegin, mlir::Value kEnd);
  void copyTransposed(mlir::Value firstColumn, mlir::Value kBegin, mlir::Value kEnd);
  /// Where vector v of row k is, counted from a strip's first, else from the first strip's.
  mlir::Value at(mlir::Value k, int64_t v, mlir::Value strip = {});

  VectorBuilder &builder;
  const GemmPlan &plan;
  mlir::Value rhs;
  llvm::ArrayRef<int64_t> sets;
  int64_t lanes;
  mlir::Value strips;
  mlir::Value begin; // the first k of what is copied
};

} // namespace sinter
