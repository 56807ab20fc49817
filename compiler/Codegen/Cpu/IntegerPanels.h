//===- IntegerPanels.h - Panels of integers and their scales ----*- C++ -*-===//
//
// Where a tile of sums finds the words of integers that it multiplies by, and their scales and
// minima, which are in panels of the same columns; and the product of rows in fixed point with
// them (FixedPointRows.h). Ordinary products and those of groups differ in where a panel begins.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Cpu/FixedPointRows.h"

namespace sinter {

class IntegerPanels {
public:
  /// What there is in memory, and in what layout.
  struct Layout {
    mlir::Value integers, scales, minima; ///< minima are null where there are none
    int64_t bits = 0;                     ///< of an integer, or of a number of e4m3
    bool isE4M3 = false;
    llvm::ArrayRef<int8_t> values; ///< that integers of 4 bits number; empty: they are themselves
    int64_t k = 0;
    int64_t group = 0;      ///< along k, of integers that share a scale
    int64_t together = 1;   ///< integers along k that are neighbours
    int64_t width = 0;      ///< columns of a panel
    int64_t elements = 0;   ///< of a panel of integers
    int64_t vectors = 0;    ///< of a tile's columns
    bool asksAhead = false; ///< for lines of integers before they are used
    /// Where the panel begins that has a column of the work item, of panels of so many elements.
    std::function<mlir::Value(int64_t column, int64_t elements)> panelAt;
  };

  IntegerPanels(VectorBuilder &builder, Layout layout);

  /// Where the words of the tile of columns from `column` on are, at the word of k. Of four bits
  /// one has a panel's first vector of columns in the lower halves of its bytes and its second one
  /// in the upper halves.
  llvm::SmallVector<mlir::Value> placesOfWords(int64_t column, mlir::Value k) const;

  /// Where the scales of a vector of columns are for k; their minima have the same place.
  mlir::Value scalesAt(int64_t column, mlir::Value k) const;

  /// The scales, and maybe minima, of a tile's vectors of columns.
  struct ColumnScales {
    llvm::SmallVector<mlir::Value> scales, minima;
  };
  ColumnScales loadScales(int64_t column, mlir::Value k) const;

  /// `count` rows of a tile as f32, without what belongs to the scales: one row, or those of a
  /// word.
  llvm::SmallVector<mlir::Value> loadWidened(int64_t column, mlir::Value k, int64_t count) const;

  /// The same as the numbers that they stand for.
  llvm::SmallVector<mlir::Value> loadDequantized(int64_t column, mlir::Value k, int64_t count,
                                                 const ColumnScales &of) const;

  /// Bytes of a row of a panel.
  int64_t getRowBytes() const { return layout.width * layout.bits / 8; }

  /// Asks for what the streams of a tile reach some time after rows of a group or segment, when it
  /// is told of `count` rows from one on: for each line once.
  std::function<void(mlir::Value row, int64_t count)> linesAhead(int64_t column,
                                                                 mlir::Value k) const;

  /// Rows in fixed point, or of bytes, and what is summed up of them for minima.
  struct Rows {
    const FixedPointRows &fixedPoint;
    const GroupSums *groupSums; ///< null where there are no minima
    int64_t segment;
    bool ofBytes;
  };

  /// Adds the products of `rows` rows in [kBegin, kEnd), each group by itself and then times its
  /// scales, to sums, row by row; returns their values.
  llvm::SmallVector<mlir::Value> accumulate(const Rows &lhs, int64_t rows, int64_t column,
                                            mlir::Value kBegin, mlir::Value kEnd,
                                            mlir::ValueRange sums) const;

private:
  llvm::SmallVector<mlir::Value> loadWords(int64_t column, mlir::Value k) const;
  llvm::SmallVector<mlir::Value> sumSegments(const Rows &lhs, int64_t rows, int64_t column,
                                             mlir::Value k) const;

  VectorBuilder &builder;
  Layout layout;
};

} // namespace sinter
