//===- FusedParts.h - Parts of a fused matrix as values ---------*- C++ -*-===//
//
// Rewrites an entry so that some of its states are several, each a part of what was one. An op
// whose loops are all independent is done for each part, a slice of the whole that is a part is
// that part, and what needs the whole has the parts put together. Every number is computed by the
// same operations as before.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace sinter {

/// Parts of a matrix that lie one behind the other along a dimension.
struct Segments {
  int64_t dim;
  llvm::SmallVector<int64_t> extents;

  bool operator==(const Segments &) const = default;
  /// Whether they are all of a matrix of this type.
  bool tile(mlir::Type type) const;
  /// The type of a part of a tensor.
  mlir::RankedTensorType getPart(mlir::RankedTensorType whole, size_t part) const;
  /// Where it begins.
  llvm::SmallVector<int64_t> getOffsets(int64_t rank, size_t part) const;
};

/// The parts that slices take of a tensor along a dimension, several that lie one behind the other
/// and are all of it; nothing where they take others.
std::optional<Segments> findParts(mlir::RankedTensorType whole, int64_t dim,
                                  llvm::ArrayRef<SliceOp> slices);

/// Splits states of an entry.
class FusedParts {
public:
  /// Of an argument's or a result's attributes the parts that it is to be in, or null. What these
  /// do not tile (an optimizer's sums along a dimension) stays.
  using FindSegments = llvm::function_ref<const Segments *(mlir::DictionaryAttr)>;

  FusedParts(mlir::func::FuncOp function, FindSegments findSegments)
      : function(function), findSegments(findSegments), builder(function.getContext()) {}

  void run();

private:
  struct Parts {
    Segments segments;
    llvm::SmallVector<mlir::Value> values;
  };

  void addArguments();
  void setResults();
  void joinParts();
  void visit(mlir::Operation *op);
  /// Does an op of independent loops for each part of one of them, if all results have that loop.
  void doForEach(mlir::Operation *op, const LoopNest &nest, unsigned loop,
                 llvm::ArrayRef<int64_t> extents);
  mlir::Operation *makePart(mlir::Operation *op, const LoopNest &nest, unsigned loop,
                            llvm::ArrayRef<int64_t> extents, size_t part);
  mlir::Value takePart(mlir::Value value, const Segments &segments, size_t part);

  mlir::func::FuncOp function;
  FindSegments findSegments;
  mlir::OpBuilder builder;
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttributes, resultAttributes; ///< afterwards
  llvm::MapVector<mlir::Value, Parts> split; ///< arguments and results of ops that are in parts
};

} // namespace sinter
