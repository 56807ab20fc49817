//===- InnermostLoops.h - The loops that become vectors ---------*- C++ -*-===//
#pragma once

#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter {

/// The loops of a module's loop kernels that have no loops inside, and what they are compiled for.
struct InnermostLoops {
  TargetAttr target; ///< null where the module has no loop kernels, or those no target
  llvm::SmallVector<mlir::scf::ForOp> loops;

  explicit InnermostLoops(mlir::ModuleOp module);
};

} // namespace sinter
