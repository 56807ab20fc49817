//===- GemmEpilogue.h - What happens to a product in registers --*- C++ -*-===//
//
// The results of a GEMM fusion are functions of the product's elements and of further inputs.
// They are computed a vector of neighbouring columns at a time, pulled from the results: element
// (row, column) of a result needs elements of its operands whose places are known when compiling
// (the same place after elementwise ops, another row of a broadcast input, a column further right
// for the second half of gate and up). A place is `row -> an affine expression`, and
// `column -> column + offset`, which is all that whole vectors can follow.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Codegen/Cpu/VectorBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

class GemmEpilogue {
public:
  /// Follows the results of a kernel function back to the product and the arguments. Reports what
  /// no place describes as an error at the op.
  static mlir::FailureOr<GemmEpilogue> analyze(mlir::func::FuncOp kernel, MatmulOp matmul);

  /// Rows and columns of the results.
  int64_t getRows() const { return rows; }
  int64_t getColumns() const { return columns; }
  /// Column offsets at which the product is needed, ascending: {0}, or {0, F} for gate and up.
  llvm::ArrayRef<int64_t> getProductOffsets() const { return productOffsets; }

  /// Emits the results' elements [row, column ... column + lanes) and stores them.
  /// @param product one vector for each of getProductOffsets().
  /// @param arguments the loop kernel's memrefs, operands then results.
  /// @param mask lanes to compute, or null for all.
  void emit(VectorBuilder &builder, mlir::ValueRange arguments, mlir::Value row, mlir::Value column,
            mlir::ValueRange product, mlir::Value mask) const;

  /// Prefetches the lines that emit() will read and write of a row's columns [column ... column +
  /// count).
  void prefetch(VectorBuilder &builder, mlir::ValueRange arguments, mlir::Value row,
                mlir::Value column, int64_t count) const;

private:
  /// Where a vector of a result finds its elements in a value: row `row(m)` of a matrix with
  /// `columns` columns, columns from n + offset on. Without columns (`single`), one element.
  struct Place {
    mlir::AffineExpr row;
    int64_t columns = 0;
    int64_t offset = 0;
    bool single = false;
    bool operator==(const Place &other) const {
      return row == other.row && columns == other.columns && offset == other.offset &&
             single == other.single;
    }
  };
  enum class Kind { Product, Argument, Constant, Elementwise };
  /// A value at a place, after its operands.
  struct Node {
    Kind kind;
    mlir::Value value;
    Place place;
    llvm::SmallVector<unsigned> operands;
    /// Of a product: index into productOffsets' order of discovery. Of a constant: its value.
    double constant = 0;
  };

  mlir::FailureOr<unsigned> visit(mlir::Value value, Place place);
  mlir::FailureOr<Place> throughBroadcast(BroadcastOp op, const Place &place) const;
  mlir::FailureOr<Place> throughSlice(SliceOp op, const Place &place) const;
  /// Where the element is that a place has for one of a result.
  mlir::Value offsetOf(VectorBuilder &builder, const Place &place, mlir::Value row,
                       mlir::Value column) const;

  MatmulOp matmul;
  int64_t rows = 0, columns = 0;
  llvm::SmallVector<Node> nodes;
  llvm::SmallVector<unsigned> results;
  llvm::SmallVector<int64_t> productOffsets;
};

} // namespace sinter
