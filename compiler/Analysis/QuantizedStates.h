//===- QuantizedStates.h - States of 8 bits and their scales ----*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace sinter {

/// A state of 8 bits is two: `NAME`, and under `NAME.scales` what its rows are multiplied with.
inline constexpr llvm::StringLiteral kScalesSuffix = ".scales";

} // namespace sinter
