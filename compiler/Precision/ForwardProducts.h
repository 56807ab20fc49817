//===- ForwardProducts.h - Which products stay wide -------------*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// Whether nothing else of the forward pass is multiplied by what becomes of the product, as the
/// logits': they are most sensitive to rounding.
bool isLastProduct(MatmulOp matmul);

/// Whether a loss reads what becomes of the product before anything else is multiplied by it.
bool makesLogits(MatmulOp matmul);

/// Whether rows of a weight are looked up, too.
bool isTable(mlir::Value weight);

} // namespace sinter
