//===- AmaxHistory.h - Largest magnitudes of earlier steps ------*- C++ -*-===//
//
// Delayed scaling, as NVIDIA's Transformer Engine has it: a value's scale is made of the largest
// magnitudes that it had in earlier steps, so that it is known before the value is. They are states
// of the training run, two of each parameter whose products multiply fp8:
//
//   amax_history.<parameter>  f32 [values, steps], the last step first, zero where none has been
//   amax.<parameter>          f32 [values], of the microbatches of a step so far: where a step has
//                             an entry for them
//
// The values are the activations, the parameter itself and the gradients that its products
// multiply, in the order in which they do.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Analysis/EntryEditor.h"
#include "llvm/ADT/MapVector.h"

namespace sinter {

/// The largest number of a type.
double getLargestMagnitude(mlir::FloatType type);

/// The types that values beside each parameter, by its name, are rounded to.
using AmaxValues = llvm::MapVector<mlir::StringAttr, llvm::SmallVector<mlir::FloatType>>;

/// What a value is multiplied by before it is rounded, and what is rounded afterwards: numbers of
/// f32, of rank 0.
struct AmaxScale {
  mlir::Value factor, scale;
};

/// The histories of one entry.
class AmaxHistory {
public:
  /// @param length in steps. @param margin scales leave room for 2^margin of the maximum.
  AmaxHistory(mlir::func::FuncOp entry, int64_t length, int64_t margin);

  /// Gives a value that is rounded to a type of 8 bits a history beside a parameter, unless it has
  /// one. What the backward pass computes again has that of what the forward pass computed.
  void add(mlir::BlockArgument parameter, mlir::Value value, mlir::FloatType element);
  const AmaxValues &getValues() const { return values; }

  /// Adds the states and makes the scales; to be called once, behind all `add` and before any op
  /// changes.
  void begin();
  /// Builds on where a value is there, and so is its scale.
  void setInsertionPoint(mlir::OpBuilder &builder, mlir::Value value) const;
  AmaxScale getScale(mlir::Value value, mlir::FloatType element) const;
  /// Keeps what a value has in this step, of rank 0.
  void record(mlir::Value value, mlir::FloatType element, mlir::Value amax);
  /// Makes what becomes of the states. @param updates whether the entry is all of a step.
  void finish(bool updates);

  /// Puts what the microbatches of a step had, on all ranks along the axis data, into the
  /// histories, in an entry that runs once a step, behind them.
  static void update(mlir::func::FuncOp entry, const AmaxValues &values, int64_t length);

private:
  /// Where a value's history is: a row of a parameter's.
  struct Row {
    mlir::StringAttr parameter;
    size_t index = 0;
  };

  mlir::Value getFirst(mlir::Value value);

  mlir::func::FuncOp entry;
  int64_t length, margin;
  AmaxValues values;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, Row> rows;
  llvm::DenseMap<mlir::Value, mlir::Value> firsts;
  /// Ops that are no copies, by the location that copies have.
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<mlir::Operation *>> originals;
  std::optional<EntryEditor> editor;
  llvm::DenseMap<mlir::StringAttr, mlir::BlockArgument> states;
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<AmaxScale>> scales;
  mlir::Operation *last = nullptr; ///< that makes them
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Value>> recorded;
};

} // namespace sinter
