//===- ExpandFp8.h - Numbers of 8 bits without instructions -----*- C++ -*-===//
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace sinter {

/// Whether a value's elements are f8E4M3FN or f8E5M2.
bool isFp8(mlir::Type type);

/// Adds patterns that make arithmetic on integers of arith.truncf from f32 to f8E4M3FN and
/// f8E5M2, to the nearest, ties to even, and of arith.extf back: processors have no instructions
/// for them. In e4m3 what is larger than 464 becomes NaN (0x7f), which is widened to 480; e5m2 has
/// infinities, as an f16 of which it is the upper half.
void populateExpandFp8Patterns(mlir::RewritePatternSet &patterns);

} // namespace sinter
