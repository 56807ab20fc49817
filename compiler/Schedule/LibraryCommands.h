//===- LibraryCommands.h - Fusions that the runtime has a command for -*- C++ -*-===//
//
// Two kinds of fusion are not generated but handed to the runtime: a GEMM whose epilogue the
// library knows, and the packing of a parameter. Both are recognized here, in one place: Fusion
// asks before it chooses the kind, LowerToPlan asks again to build the command.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Plan/PlanDialect.h"
#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

/// A GEMM and its epilogue, over arguments of a fusion's block.
struct LibraryGemm {
  int64_t m, n, k;
  mlir::Type dtype, outType;
  mlir::BlockArgument lhs, rhs;
  llvm::SmallVector<mlir::BlockArgument> extras; ///< one for each post-op that reads one
  llvm::SmallVector<plan::PostOpAttr> postOps;
};

/// The GEMM that a block with one result computes: a matmul of two arguments, rhs in panels, and on
/// its way to the terminator any of: reshapes; `add` of a row of n elements (a broadcast of an
/// argument along all dimensions but the last); `add` or `mul` of an argument of the product's
/// size; gelu, silu, relu; a final cast. Arguments may be cast or reshaped first.
/// Fails with the reason, a sentence that begins with "expected".
mlir::FailureOr<LibraryGemm> matchLibraryGemm(mlir::Block &block, std::string &reason);

/// One source of a pack: a matrix inside an argument.
struct PackSource {
  mlir::BlockArgument argument;
  int64_t offset; ///< of its first element, in bytes
  int64_t bytes;  ///< up to its last one
  plan::PackSourceAttr layout;
};

/// The packing of one or more matrices side by side.
struct PackCommand {
  int64_t k, n;
  mlir::Type dtype;
  PanelsAttr panels;
  llvm::SmallVector<PackSource> sources;
};

/// The packing that a block with one result computes: `pack` of slices, reshapes, transposes,
/// casts and concatenations (of columns) of arguments.
/// Fails with the reason, a sentence that begins with "expected".
mlir::FailureOr<PackCommand> matchPack(mlir::Block &block, std::string &reason);

} // namespace sinter
