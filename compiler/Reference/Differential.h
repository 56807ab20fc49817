//===- Differential.h - Does a pass keep the meaning? -----------*- C++ -*-===//
//
// A pass is right when what stands after it computes what stood before it. Both are run by the
// reference evaluator on the same generated arguments; what differs is cut down to a small module
// that still shows it.
//
// One pass gives a meaning instead of keeping it: differentiation adds gradients. These are held
// to the derivative of the loss along a random direction of all parameters, by central differences
// in double precision.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Reference/GeneratedInputs.h"
#include "compiler/Reference/Outcome.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>

namespace sinter {

/// Runs a pass on a module; failure is the pass's own.
using RunPass = std::function<mlir::LogicalResult(mlir::ModuleOp)>;

struct DifferentialOptions {
  /// Largest relativeError() that passes. The evaluator computes in double precision, so what a
  /// correct pass changes is the order of sums.
  double tolerance = 1e-9;
  double floor = 1e-6; ///< as relativeError() takes it
  EntryInputs inputs;  ///< of entries; others are given the default ones
  /// Where numbers may be rounded otherwise: what `after` chooses is what `before` did (Choices).
  bool followsChoices = false;

  GeneratedInputs getInputs(llvm::StringRef entry) const;
};

/// How one entry function fared.
struct Difference {
  std::string entry;
  Outcome outcome = Outcome::Failed;
  double error = 0;    ///< infinity where the results do not correspond
  std::string message; ///< why there is no error to state
};

using Differences = llvm::SmallVector<Difference>;

/// The names of the entries that are compared: all but @preprocess, which has no meaning of its
/// own.
llvm::SmallVector<std::string> listEntries(mlir::ModuleOp module);

/// Compares what one entry computes in two modules that are to mean the same. Gradients that only
/// `before` returns are an optimizer's to use; those that only `after` returns are held to the
/// derivative of the loss of `before`. Holds or Differs.
Difference compareModules(mlir::ModuleOp before, mlir::ModuleOp after, llvm::StringRef entry,
                          const DifferentialOptions &options);

/// Compares every entry function of `module` before and after the pass; `module` is unchanged. The
/// first error that the pass reports is a failure's message.
Differences comparePass(mlir::ModuleOp module, const RunPass &run,
                        const DifferentialOptions &options);

/// Compares a module with what is made of it, as comparePass does.
using CompareModule = std::function<Differences(mlir::ModuleOp)>;

/// The smallest module found, with one entry, for which `compare` has the same outcome: later ops
/// are dropped, then values are replaced by arguments while it stays.
/// @pre `compare` gives `outcome` for `entry` of `module`.
mlir::OwningOpRef<mlir::ModuleOp> reduceFailure(mlir::ModuleOp module, llvm::StringRef entry,
                                                Outcome outcome, const CompareModule &compare);

} // namespace sinter
