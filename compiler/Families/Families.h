//===- Families.h - The families that Sinter brings -------------*- C++ -*-===//
#pragma once

#include "compiler/Analysis/KernelFamily.h"
#include "mlir/IR/DialectRegistry.h"

namespace sinter {

/// The gradients of one attention: reshapes and column slices of its rows, and the op.
const KernelFamily &getAttentionGradFamily();

/// One attention; what comes before its query and after its result moves elements of contiguous
/// rows, or rounds them.
const KernelFamily &getAttentionFamily();

/// A product that a GPU's library computes, post-ops included: gemms that SelectLibraryGemm gives
/// to it.
const KernelFamily &getLibraryGemmFamily();

/// One linear attention or its gradients, alone.
const KernelFamily &getLinearAttentionFamily();

/// A matrix, sliced, cast, transposed, put side by side, in this order, and packed.
const KernelFamily &getPackFamily();

/// Rows of integers of four bits, packed for a GPU by a kernel, alone.
const KernelFamily &getPackIntegersFamily();

/// One contraction whose operands are in memory, and an epilogue of elementwise ops on
/// floating-point numbers, with reshapes, columns of the product from a panel's first on, and
/// operands spread over rows. All results have the product's rows and as many columns as each
/// other. Without panels, what LibraryGemm takes. (The norm before a GEMV joins it later:
/// AbsorbNorms.)
const KernelFamily &getGemmFamily();

/// One grouped_matmul or grouped_outer, alone.
const KernelFamily &getGroupedGemmFamily();

/// One choice of experts or their order, alone.
const KernelFamily &getRoutingFamily();

/// Elementwise, row and column reduction, index, gather and update ops in any combination, if
/// nothing makes a generator compute a reduction again and again: between a row's reduction and a
/// result only ops that keep rows, and none that gives the reduction to several rows
/// (Recomputation.h). Rows chosen by data are chosen from what is in memory. Sums over rows are
/// results. An update's memory comes from outside, its result goes there, and no other op of the
/// kernel touches either.
const KernelFamily &getRowsFamily();

/// One choice of tokens from logits, alone.
const KernelFamily &getSamplingFamily();

/// One sum of rows into the rows that data choose, alone: an embedding's gradient.
const KernelFamily &getScatterFamily();

/// On a GPU, more than eight matrices of one size one after another, as they are in memory, and
/// maybe a cast behind them: those of experts.
const KernelFamily &getStackFamily();

/// Gives Sinter's dialect the families, which passes from Fusion to Schedule ask for.
void registerKernelFamilies(mlir::DialectRegistry &registry);

} // namespace sinter
