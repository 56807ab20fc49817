//===- GemmPlan.h - What a product's kernel computes and how ----*- C++ -*-===//
//
// Read from the kernel on tensors: where operands are and in which layout. Then cut for the target:
// how large tiles and blocks are, and what a kernel copies.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Analysis/KernelLayouts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

/// What a kernel computes and how it is cut.
struct GemmPlan {
  enum class Rhs { Panels, Dense, DenseTransposed };

  MatmulOp matmul;
  unsigned lhsArgument = 0, rhsArgument = 0;
  // Element [row, k] of lhs: offset + place of the row + k * strideK. Rows are `stride` apart, or,
  // in panels, columns of panels `lhsPanelElements` apart.
  int64_t lhsStride = 0, lhsStrideK = 1, lhsOffset = 0;
  int64_t lhsPanelWidth = 0, lhsPanelElements = 0;
  Rhs rhs = Rhs::Panels;
  int64_t panelWidth = 0, panelElements = 0;
  bool pairs = false;     // rhs holds pairs of bf16
  bool usesTiles = false; // pairs, or words of bytes, are multiplied in tiles (MatrixTiles)
  // Of integers, or e4m3: their width, the scales and minima, in panels of the same columns, and
  // the k that share one.
  int64_t integerBits = 0;
  bool isE4M3 = false;
  llvm::ArrayRef<int8_t> values; // that integers of 4 bits number; empty: they are themselves
  unsigned scalesArgument = 0;
  std::optional<unsigned> minimaArgument;
  int64_t group = 0;
  int64_t together = 1; // integers along k that are neighbours
  int64_t segment = 0;  // of rows in fixed point (FixedPointRows), 0 where there are none
  std::optional<unsigned> rowScalesArgument; // of rows of bytes
  int64_t bytesOfWord = 0; // of rows of bytes that are multiplied together where sums are of all k
  int64_t m = 0, n = 0, k = 0; // k of bytes is padded to whole words

  /// Whether rows meet the numbers that integers stand for.
  bool isDequantized() const { return group != 0 && segment == 0 && bytesOfWord == 0; }
  /// Whether what a group sums up to meets its scale, not each number.
  bool scalesSums() const { return isE4M3 && m < kManyRows; }

  int64_t columnBlocks = 0; // of kItemColumns, along the results' columns
  /// Work items with as many blocks of columns each, as far as another round goes.
  struct Round {
    int64_t item = 0, block = 0; ///< the first of them, and its first block
    int64_t blocks = 1;          ///< of an item
  };
  /// Items have fewer blocks from round to round.
  llvm::SmallVector<Round, 1> rounds = {Round()};

  int64_t getMostBlocks() const { return rounds.front().blocks; }
  int64_t getTiles() const { return rowBlock / tileRows; } ///< of rows, of a work item
  int64_t getColumnItems() const {
    const Round &last = rounds.back();
    return last.item + llvm::divideCeil(columnBlocks - last.block, last.blocks);
  }

  int64_t rowBlock = 0; // rows of a work item, whole tiles
  int64_t rowBlocks = 0;
  int64_t kBlock = 0;
  int64_t tileRows = 0;
  int64_t tileVectors = 0;
  bool stripsFirst = false; // tiles of rows pass over a block of k of one strip after the other
  bool copiesRhs = false;   // the kernel makes the strips that it reads
  bool copiesLhs = false;   // the kernel copies its block of rows
  bool rowsFollow = false;  // items of the same columns follow one another, else of the same rows
  bool hasShortPanels = false; // they are prefetched
};

/// The plan of a kernel's only matmul, not cut yet; fails with a diagnostic where no kernel reads
/// its operands.
mlir::FailureOr<GemmPlan> makeGemmPlan(mlir::func::FuncOp kernel, TargetAttr target);

/// Chooses tiles and blocks for the target. @param columns of the results @param sets of columns of
/// the product that a result's columns are computed from
void cutGemm(GemmPlan &plan, TargetAttr target, int64_t columns, int64_t sets);

} // namespace sinter
