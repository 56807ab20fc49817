//===- Evaluator.h - Running graphs by their definition ---------*- C++ -*-===//
//
// Every op says what it means in double precision (ReferenceOpInterface). The evaluator strings
// ops together, binds entry functions' arguments by their names, and compares two modules that
// should mean the same: what stood before a pass with what stands after it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Interfaces/ReferenceTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>

namespace sinter {

/// Values by the names that entry functions' arguments and results carry.
using NamedTensors = std::map<std::string, ReferenceTensor>;

/// The results of a function for the given arguments, in order.
/// @pre one block, every op has a reference, argument types are the function's.
llvm::SmallVector<ReferenceTensor> evaluateFunction(mlir::func::FuncOp function,
                                                    llvm::ArrayRef<ReferenceTensor> arguments);

/// A value for an argument that depends only on the seed, its name and its type: normal numbers
/// for tensors of numbers; for step inputs what a step could hold (tokens below 64, a start that
/// leaves room, a count of 1 at least).
ReferenceTensor makeArgument(mlir::func::FuncOp function, unsigned index, uint64_t seed);

/// Evaluates an entry function on arguments made from `seed`: parameters, states and inputs by
/// name, prepared parameters through @prepare, which then must exist.
/// @returns results by name (states as "state:<name>").
mlir::FailureOr<NamedTensors> evaluateEntry(mlir::ModuleOp module, llvm::StringRef entry,
                                            uint64_t seed);

/// The largest ||a - b|| / ||b|| over the tensors of `expected`; infinity where one is missing
/// from `actual`, has another shape, or holds a NaN that the other has not.
double relativeError(const NamedTensors &actual, const NamedTensors &expected);

} // namespace sinter
