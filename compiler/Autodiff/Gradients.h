//===- Gradients.h - Gradients while a backward pass is built ---*- C++ -*-===//
//
// Contributions to a value's gradient are collected and summed when the gradient is first asked
// for, in the order in which they came: the sum's bits are the graph's alone.
//
// Slices of one value (the parts of a fused weight) that tile it become one concatenation, which a
// kernel reads through; other slices are filled up with zeros first.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace sinter {

class Gradients final : public Adjoint {
public:
  /// Builds at the end of the entry block of a function whose differentiated arguments are `roots`.
  Gradients(mlir::Block &block, llvm::ArrayRef<mlir::BlockArgument> roots);

  /// Builds the adjoints of all ops that the gradients so far have reached. An op that a gradient
  /// would have to pass and that has none is reported as an error.
  mlir::LogicalResult run();

  mlir::OpBuilder &getBuilder() override { return builder; }
  mlir::Location getLoc() override { return location; }
  mlir::Value getGradient(mlir::Value value) override;
  bool isNeeded(mlir::Value value) const override { return active.contains(value); }
  void add(mlir::Value value, mlir::Value gradient) override;
  void addSlice(mlir::Value value, llvm::ArrayRef<int64_t> offsets, mlir::Value gradient) override;

private:
  struct Slice {
    llvm::SmallVector<int64_t> offsets;
    mlir::Value gradient;
  };
  struct Contributions {
    llvm::SmallVector<mlir::Value> whole;
    llvm::SmallVector<Slice> slices;
    mlir::Value sum;
  };

  /// The slices as a concatenation along the one dimension that they tile, or null.
  mlir::Value concatenate(mlir::RankedTensorType type, llvm::ArrayRef<Slice> slices);
  /// A slice with zeros around it.
  mlir::Value pad(mlir::RankedTensorType type, const Slice &slice);

  mlir::OpBuilder builder;
  mlir::Location location;
  mlir::Block &block;
  llvm::DenseMap<mlir::Value, Contributions> contributions;
  /// Values that are computed from the roots and the loss may depend on.
  llvm::DenseSet<mlir::Value> active;
};

} // namespace sinter
