//===- PackCommand.h - The packing of a parameter ---------------*- C++ -*-===//
#pragma once

#include "dialects/Plan/PlanDialect.h"
#include "dialects/Sinter/SinterDialect.h"

namespace sinter {

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
