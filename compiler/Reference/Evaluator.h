//===- Evaluator.h - Running graphs by their definition ---------*- C++ -*-===//
//
// Every op says what it means in double precision (ReferenceOpInterface). The evaluator strings
// ops together, binds entry functions' arguments by their names, and compares two modules that
// should mean the same: what stood before a pass with what stands after it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Reference/GeneratedInputs.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace sinter {

/// Values by the names that entry functions' arguments and results carry.
using NamedTensors = std::map<std::string, ReferenceTensor>;

/// What top_k chose while an entry was evaluated. A number that is rounded otherwise may choose
/// others, and what is computed from these is no longer near: to compare the rest, a second
/// evaluation chooses what the first one did.
struct Choices {
  /// Those of a step in a layer, one behind the other; a backward pass may make them again.
  std::map<std::pair<int64_t, std::string>, std::vector<ReferenceTensor>> made;
  bool areFollowed = false; ///< else they are written down
  int64_t step = 0;
  std::map<std::pair<int64_t, std::string>, size_t> followed = {}; ///< how many of them are
};

/// The results of a function for the given arguments, in order.
/// @pre one block, every op has a reference, argument types are the function's.
llvm::SmallVector<ReferenceTensor> evaluateFunction(mlir::func::FuncOp function,
                                                    llvm::ArrayRef<ReferenceTensor> arguments,
                                                    Choices *choices = nullptr);

/// The results on every rank of a grid for the arguments of every rank, all of which run the
/// function op by op at the same time.
/// @pre the function's module has the grid, `arguments` one list a rank; else as evaluateFunction.
llvm::SmallVector<llvm::SmallVector<ReferenceTensor>>
evaluateRanks(mlir::func::FuncOp function, GridAttr grid,
              llvm::ArrayRef<llvm::SmallVector<ReferenceTensor>> arguments);

/// What a rank holds of a tensor that is split as `sharding` says: of an unreduced one a term, all
/// of which add up to `whole`; zeros where its part ends beyond the tensor.
ReferenceTensor takeShard(const ReferenceTensor &whole, ShardingAttr sharding, GridAttr grid,
                          int64_t rank);

/// The tensor of type `whole` that ranks hold the parts of, or terms of. Fails, saying where, if
/// ranks that should hold the same do not.
mlir::FailureOr<ReferenceTensor> joinShards(llvm::ArrayRef<ReferenceTensor> parts,
                                            mlir::RankedTensorType whole, ShardingAttr sharding,
                                            GridAttr grid, std::string &reason);

/// Evaluates an entry function on generated inputs: parameters, states and inputs by name,
/// preprocessed parameters through @preprocess, which then must exist. Of a module for a grid all
/// ranks are run, and what they hold parts of is taken apart and put together again, so that
/// arguments and results are those of the module for one. An entry with states is run for
/// `inputs.steps` steps, each on the states that the one before it left.
/// @returns results by name (states as "state:<name>", those of 8 bits times their scales,
/// gradients as "gradient:<parameter>"), those of a later step as nameAtStep has it.
/// @param choices of a module for one rank
mlir::FailureOr<NamedTensors> evaluateEntry(mlir::ModuleOp module, llvm::StringRef entry,
                                            const GeneratedInputs &inputs,
                                            Choices *choices = nullptr);

/// "logits", and "logits of step 1".
std::string nameAtStep(std::string name, int64_t step);

/// The largest ||a - b|| / ||b|| over the tensors of `expected`; infinity where one is missing
/// from `actual`, has another shape, or holds a NaN that the other has not. A tensor whose root
/// mean square is below `floor` counts as one of that: what is zero but for roundings, as the
/// gradient of a key's bias, has no relative error.
double relativeError(const NamedTensors &actual, const NamedTensors &expected, double floor = 0);

} // namespace sinter
