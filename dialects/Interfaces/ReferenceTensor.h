//===- ReferenceTensor.h - Values of the reference evaluator ----*- C++ -*-===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <cstdint>
#include <vector>

namespace sinter {

/// A dense row-major tensor of doubles with a logical shape. The element type matters only to
/// `round`: values of 16-bit types are kept rounded.
class ReferenceTensor {
public:
  ReferenceTensor() = default;

  /// All zeros.
  explicit ReferenceTensor(mlir::RankedTensorType type);

  /// The elements of a constant.
  explicit ReferenceTensor(mlir::DenseElementsAttr attribute);

  mlir::RankedTensorType getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getNumElements() const { return static_cast<int64_t>(values.size()); }

  double &operator[](int64_t i) { return values[i]; }
  double operator[](int64_t i) const { return values[i]; }

  /// Element at a multi-index.
  double &at(llvm::ArrayRef<int64_t> index) { return values[linearize(index)]; }
  double at(llvm::ArrayRef<int64_t> index) const { return values[linearize(index)]; }

  llvm::MutableArrayRef<double> data() { return values; }
  llvm::ArrayRef<double> data() const { return values; }

  /// The same values under another type of as many elements.
  ReferenceTensor reshaped(mlir::RankedTensorType newType) const;

  /// Rounds every value to the element type if that has 16 bits (round to nearest even).
  void round();

private:
  int64_t linearize(llvm::ArrayRef<int64_t> index) const;

  mlir::RankedTensorType type;
  std::vector<double> values;
};

} // namespace sinter
