//===- Evaluator.h - Running graphs by their definition ---------*- C++ -*-===//
//
// Every op says what it means in double precision (ReferenceOpInterface). The evaluator strings
// ops together, binds entry functions' arguments by their names, and compares two modules that
// should mean the same: what stood before a pass with what stands after it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Reference/GeneratedInputs.h"
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

/// Evaluates an entry function on generated inputs: parameters, states and inputs by name, prepared
/// parameters through @prepare, which then must exist. An entry with states is run for
/// `inputs.steps` steps, each on the states that the one before it left.
/// @returns results by name (states as "state:<name>", gradients as "gradient:<parameter>"), those
/// of a later step as nameAtStep has it.
mlir::FailureOr<NamedTensors> evaluateEntry(mlir::ModuleOp module, llvm::StringRef entry,
                                            const GeneratedInputs &inputs);

/// "logits", and "logits of step 1".
std::string nameAtStep(std::string name, int64_t step);

/// The largest ||a - b|| / ||b|| over the tensors of `expected`; infinity where one is missing
/// from `actual`, has another shape, or holds a NaN that the other has not. A tensor whose root
/// mean square is below `floor` counts as one of that: what is zero but for roundings, as the
/// gradient of a key's bias, has no relative error.
double relativeError(const NamedTensors &actual, const NamedTensors &expected, double floor = 0);

} // namespace sinter
