//===- StridedInput.h - A kernel's input seen through index ops -*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// Elements of a dense kernel argument: index (i0, i1, ...) is at offset + sum of i * strides.
struct StridedInput {
  unsigned argument = 0;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;

  /// Follows `value` through reshapes and slices to an argument of the kernel, as the q of
  /// `[b, t, h, d]` that is the first columns of a merged q, k and v. Strides are one a dimension
  /// of the value. Reports as an error what is not strided.
  static mlir::FailureOr<StridedInput> trace(mlir::Value value);

  /// What trace() will find in a kernel of the ops that are `inside`, whose arguments are what
  /// other ops make; without the argument's number. Fails where trace() will, and reports nothing.
  static mlir::FailureOr<StridedInput> foresee(mlir::Value value,
                                               llvm::function_ref<bool(mlir::Operation *)> inside);

  /// Whether a value of this shape is all of the argument, element by element.
  bool isDense(llvm::ArrayRef<int64_t> shape) const;
};

} // namespace sinter
