//===- Differential.h - Does a pass keep the meaning? -----------*- C++ -*-===//
//
// A pass is right when what stands after it computes what stood before it. Both are run by the
// reference evaluator on the same generated arguments; what differs is cut down to a small module
// that still shows it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <string>

namespace sinter {

/// Runs a pass on a module; failure is the pass's own.
using RunPass = std::function<mlir::LogicalResult(mlir::ModuleOp)>;

struct DifferentialOptions {
  /// Largest ||after - before|| / ||before|| over the results that passes. The evaluator computes
  /// in double precision, so what a correct pass changes is the order of sums.
  double tolerance = 1e-9;
  uint64_t seed = 0;
};

/// How one entry function fared.
struct Difference {
  std::string entry;
  double error = 0;    ///< infinity where the results do not correspond
  std::string message; ///< why there is no error to state: the pass or the evaluation failed
  bool holds = false;
};

/// Compares every entry function of `module` before and after the pass; `module` is unchanged.
/// Diagnostics of the pass go to the context's handler.
llvm::SmallVector<Difference> comparePass(mlir::ModuleOp module, const RunPass &run,
                                          const DifferentialOptions &options);

/// The smallest module found, with one entry, for which comparePass still fails: later ops are
/// dropped, then values are replaced by arguments while the failure stays.
/// @pre comparePass fails for `entry` of `module`.
mlir::OwningOpRef<mlir::ModuleOp> reduceFailure(mlir::ModuleOp module, llvm::StringRef entry,
                                                const RunPass &run,
                                                const DifferentialOptions &options);

} // namespace sinter
