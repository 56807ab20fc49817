//===- LibraryGemm.h - What the device's library can fuse -------*- C++ -*-===//
//
// A library's GEMM takes a straight chain of post-ops on its f32 accumulator. Whether a fusion is
// such a chain is asked twice: when the cost model weighs the library against a generated kernel,
// and when the plan's command is written.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Plan/PlanDialect.h"
#include "dialects/Sinter/SinterDialect.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace sinter {

/// One step of the epilogue.
struct LibraryPostOp {
  plan::PostOpKind kind;
  /// [n] for Bias, [m, n] row-major for Add and Multiply, null for the others. A value from
  /// outside: of a fusion's body, a block argument.
  mlir::Value operand;
};

/// A matmul and its post-ops, in order.
struct LibraryGemm {
  MatmulOp matmul;
  llvm::SmallVector<LibraryPostOp> postOps;
  /// What the chain ends in, of f32 or bf16.
  mlir::Value result;
};

/// The ops as one library GEMM: lhs [m, k] dense and rhs [k, n] in panels come from outside, one
/// value goes there, all arithmetic in between is f32 and expressible as post-ops. Nothing if not.
std::optional<LibraryGemm> matchLibraryGemm(const llvm::SetVector<mlir::Operation *> &ops);

/// The same for the body of a fusion; operands are block arguments then.
std::optional<LibraryGemm> matchLibraryGemm(FusionOp fusion);

} // namespace sinter
