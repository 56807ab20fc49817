//===- FusionRules.h - Which ops can be one kernel --------------*- C++ -*-===//
//
// The rules of the code generators, said in terms of roles:
//
// rows       elementwise, row and column reduction, index, gather and update ops in any
//            combination, if nothing makes a generator compute a reduction again and again: between
//            a row's reduction and a result only ops that keep rows, and none that gives the
//            reduction to several rows (Recomputation.h). Rows chosen by data are chosen from what
//            is in memory. Sums over rows are results. An update's memory comes from outside, its
//            result goes there, and no other op of the kernel touches either.
// gemm       one contraction whose operands are in memory, and an epilogue of elementwise ops on
//            floating-point numbers, with reshapes, columns of the product from a panel's first
//            on, and operands spread over rows. All results have the product's rows and as many
//            columns as each other. Without panels, what LibraryGemm takes. (The norm before a
//            GEMV joins it later: AbsorbNorms.)
// attention  one attention; what comes before its query and after its result moves elements of
//            contiguous rows, or rounds them.
// pack       a matrix, sliced, cast, transposed, put side by side, in this order, and packed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace sinter {

/// What a set of ops can be: a kernel of a kind, or none for a reason.
struct Classification {
  std::optional<FusionKind> kind;
  llvm::StringRef reason;

  explicit operator bool() const { return kind.has_value(); }
};

/// @param ops ops of one block, in any order.
Classification classify(const llvm::SetVector<mlir::Operation *> &ops);

} // namespace sinter
