//===- ExpandE4M3.h - Numbers of 8 bits without instructions ----*- C++ -*-===//
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace sinter {

/// Whether a value's elements are f8E4M3FN.
bool isE4M3(mlir::Type type);

/// Adds patterns that make arithmetic on integers of arith.truncf from f32 to f8E4M3FN, to the
/// nearest, ties to even, and of arith.extf back: processors have no instructions for either.
/// What is larger than 464 becomes NaN (0x7f), which is widened to 480.
void populateExpandE4M3Patterns(mlir::RewritePatternSet &patterns);

} // namespace sinter
