//===- GeneratedInputs.h - What entries are evaluated on --------*- C++ -*-===//
//
// Two modules that should mean the same, and the executable that is made of them, are given the
// same values: each is a function of the seed, the argument's name and its type, and, for inputs,
// of the step.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/Interfaces/ReferenceTensor.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <set>
#include <string>

namespace sinter {

struct GeneratedInputs {
  uint64_t seed = 0;
  int64_t steps = 1;       ///< of an entry that has states
  int64_t vocabulary = 64; ///< tokens and targets are below it
  int64_t chunk = 4;       ///< the most tokens that a slot takes in a step
  int64_t maxSequence = 0; ///< positions of a slot's cache; 0: every slot starts at the first
  /// States that begin as the parameter of their name instead of zero: what a training step trains.
  std::set<std::string, std::less<>> parameters;
  /// Added to every parameter that is not fixed, times a direction that depends on the seed and its
  /// name: a loss' derivative along it is that of the sum over the parameters of gradient *
  /// direction.
  double shift = 0;
  std::string shifted; ///< the one parameter that is shifted; empty: all

  /// The value of an argument of an entry function at a step, from 0: of states that at the first;
  /// of what is split over ranks, all of it.
  ///
  ///   parameters        normal numbers of a deviation that keeps products near 1; of integers
  ///                     any but the least, or of their values
  ///   states            zero, as the runtime has them, a parameter, or a gradient
  ///   tokens, targets   below the vocabulary
  ///   count, start      1 at least and `chunk` at most; so that all steps fit into max_sequence,
  ///                     each step going on where the one before it ended
  ///   loss_weight, learning_rate, bias_correction1, ...   what a step could hold
  ///   other inputs      normal numbers, integers 0
  ReferenceTensor make(mlir::func::FuncOp function, unsigned index, int64_t step = 0) const;

  /// The direction of `shift` for a parameter.
  ReferenceTensor makeDirection(llvm::StringRef name, mlir::RankedTensorType type) const;

private:
  ReferenceTensor makeParameter(llvm::StringRef name, mlir::RankedTensorType type,
                                bool isFixed = false) const;
  ReferenceTensor makeState(llvm::StringRef name, mlir::DictionaryAttr attributes,
                            mlir::RankedTensorType type) const;
  ReferenceTensor makeInput(llvm::StringRef name, mlir::RankedTensorType type, int64_t step) const;
  int64_t makeCount(int64_t slot, int64_t step) const;
  int64_t makeStart(int64_t slot, int64_t step) const;
};

/// What the entries of a module are evaluated on, by name.
using EntryInputs = std::map<std::string, GeneratedInputs, std::less<>>;

/// `inputs` for every entry of a graph as it is before any pass: sizes are those of the entry's
/// arguments, and every parameter of the module may be a state later on.
EntryInputs makeEntryInputs(mlir::ModuleOp module, const GeneratedInputs &inputs);

/// The type of all of what an argument or a result is a part of: `sinter.whole`, or its own.
mlir::RankedTensorType getWholeType(mlir::DictionaryAttr attributes, mlir::Type type);

/// Of an element of a state that is a part of a tensor, its number in all of that.
int64_t findInWhole(BoxAttr box, mlir::RankedTensorType part, int64_t element);

/// The name under which an attribute of an argument or result binds it, or an empty one.
llvm::StringRef getBoundName(mlir::DictionaryAttr attributes, llvm::StringRef attribute);

} // namespace sinter
