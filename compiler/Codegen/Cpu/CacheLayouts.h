//===- CacheLayouts.h - How attention wants its caches ----------*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// The layout of a key cache of this element type that attention reads fastest: panels of 16
/// positions, and of pairs along d for bf16 where the target multiplies pairs in one instruction.
mlir::Attribute getKeyLayout(mlir::Type elementType, TargetAttr target);

/// The same of a value cache: one head's rows contiguous.
mlir::Attribute getValueLayout(mlir::Type elementType, TargetAttr target);

} // namespace sinter
