//===- FusionRules.h - Which ops can be one kernel --------------*- C++ -*-===//
#pragma once

#include "compiler/Analysis/KernelFamily.h"

namespace sinter {

/// What a set of ops can be: a kernel of a family, or none for a reason.
struct Classification {
  const KernelFamily *family = nullptr;
  llvm::StringRef reason;

  explicit operator bool() const { return family != nullptr; }
};

/// Why ops with two roots among them are no kernel.
inline constexpr llvm::StringLiteral kTwoRoots = "a kernel is made around one op";

/// Asks the family of the one root that is among ops, or else rows.
/// @param ops ops of one block, in any order.
/// @param families those of the block's context, with that of rows.
Classification classify(const OpSet &ops, const KernelFamilies &families);

/// The same of ops of which it is known that this is the only root, or that there is none: null.
Classification classify(const OpSet &ops, mlir::Operation *root, const KernelFamilies &families);

} // namespace sinter
