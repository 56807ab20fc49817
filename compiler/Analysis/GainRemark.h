//===- GainRemark.h - What a decision saves, in its remark ------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace sinter {

/// The figure of a remark about a decision by predicted costs: what doing it saves, in nanoseconds;
/// below zero, what it would cost.
inline constexpr llvm::StringLiteral kGainNs = "gain_ns";

} // namespace sinter
