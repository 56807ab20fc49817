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

  /// Whether trace() will succeed in a kernel of the ops that are `inside`: its arguments are what
  /// other ops make.
  static bool canTrace(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> inside);
};

} // namespace sinter
