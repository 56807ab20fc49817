//===- PackCommand.h - The packing of a parameter ---------------*- C++ -*-===//
#pragma once

#include "compiler/Analysis/KernelFamily.h"

namespace sinter {

/// One source of a pack: a matrix inside a value, and how it lies there (plan.pack_source).
struct PackSource {
  mlir::Value value;
  int64_t offset; ///< of its first element, in bytes
  int64_t bytes;  ///< up to its last one
  mlir::Type dtype;
  int64_t n, stride;
  bool transposed;
};

/// The packing of one or more matrices side by side.
struct PackCommand {
  int64_t k, n;
  mlir::Type dtype;
  PanelsAttr panels;
  llvm::SmallVector<PackSource> sources;
};

/// The packing that ops compute: a `pack` of slices, reshapes, transposes, concatenations (of
/// columns) and at most one cast of each of the values from outside, and nothing else. A part of a
/// value has an address where the value is an argument; of what a step makes there is only the
/// whole. Fails with the reason, a sentence that begins with "expected".
mlir::FailureOr<PackCommand> matchPack(const OpSet &ops, std::string &reason);

} // namespace sinter
