//===- KernelLayouts.h - How a processor's kernels want operands -*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// Columns of a panel, and of a work item where the right-hand side is not in panels.
inline constexpr int64_t kPanelWidth = 64;

/// Rows whose products with a panel fit the scratch of a work item: where there are no more, each
/// panel is read once.
inline constexpr int64_t kBlockRows = 256;

/// The panels that products of this element type are computed from.
PanelsAttr getPanels(mlir::Type elementType);

/// Whether a kernel may read this right-hand side as it is, not in panels: an f32 state.
bool mayStayDense(mlir::Value rhs);

/// The layout of a key cache of this element type that attention reads fastest: panels of 16
/// positions, and of pairs along d for bf16 where the target multiplies pairs in one instruction.
mlir::Attribute getKeyLayout(mlir::Type elementType, TargetAttr target);

/// The same of a value cache: one head's rows contiguous.
mlir::Attribute getValueLayout(mlir::Type elementType, TargetAttr target);

} // namespace sinter
