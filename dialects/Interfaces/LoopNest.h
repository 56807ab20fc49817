//===- LoopNest.h - How an op's loops go over its tensors -------*- C++ -*-===//
//
// What may be split over a grid of devices: an op is a nest of loops, and every dimension of an
// operand or a result is one of them. A device that runs some turns of a loop needs the part of the
// tensors that they go over. Ops say it in the notation of Einstein sums:
//
//   "... k, k n -> ... n"      a product: rows and columns are independent, k is summed
//   "... D, D -> ... D"        a norm: rows are independent, each needs its whole row
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace sinter {

/// A loop's turns: independent of each other; combined into one result (a sum, unless the nest says
/// otherwise); or all needed together, so that the loop is never split.
enum class LoopKind { Parallel, Reduction, Whole };

/// How the parts of a result that loops of reduction were split into are combined.
enum class LoopReduction { Sum, Max, Average };

struct LoopNest {
  llvm::SmallVector<LoopKind> loops;
  /// From a point of the loops to an element: one a tensor, operands before results.
  llvm::SmallVector<mlir::AffineMap> maps;
  LoopReduction reduction = LoopReduction::Sum;
  /// Every element comes from one turn of the loops that reduce, and a part without it gives what
  /// leaves it as it is: these loops may be split with the same bits.
  bool exact = false;
  /// What is computed at an element follows from where it stands: a part has to be told
  /// (ShardableOpInterface::placePart).
  bool placed = false;
};

/// Where a device's part of the loops of an op stands, as values of the program that all devices
/// run.
class PartPlace {
public:
  virtual ~PartPlace() = default;
  /// The sum over the loops of the device's first turn times the loop's stride, [1] of i32; null
  /// where that is zero on every device.
  virtual mlir::Value getNumber(llvm::ArrayRef<int64_t> strides) = 0;
  /// `start` ([slots] of i32; null for zeros) plus the device's first turn of a loop.
  virtual mlir::Value shift(mlir::Value start, int64_t slots, unsigned loop) = 0;
};

/// The nest of an op whose operands, then results, are `tensors`, null where an optional one is
/// absent. `text` has a list of dimensions for each, absent ones too: a lower-case letter is an
/// independent loop if a result has it and a reduction otherwise, an upper-case letter is a loop
/// that is never split; a loop may go over dimensions of unlike extents, of which each device then
/// has an equal part. `...` are all leading dimensions that the rest leaves, `*` the same, whole.
/// @pre the lists fit the tensors' ranks.
LoopNest parseLoopNest(mlir::MLIRContext *context, llvm::StringRef text,
                       llvm::ArrayRef<mlir::Value> tensors);

/// The nest in which element i of every result comes from elements i of the operands.
LoopNest makeElementwiseNest(mlir::Operation *op);

/// parseLoopNest for an op of ODS: one list for each of its declared operands and results.
template <typename Op> LoopNest makeLoopNest(Op op, llvm::StringRef text) {
  llvm::SmallVector<mlir::Value> tensors;
  auto add = [&](auto range) { tensors.push_back(range.empty() ? mlir::Value() : *range.begin()); };
  auto [operands, results] = text.split("->");
  for (unsigned i = 0, count = operands.count(',') + 1; i < count; ++i)
    add(op.getODSOperands(i));
  for (unsigned i = 0, count = results.count(',') + 1; i < count; ++i)
    add(op.getODSResults(i));
  return parseLoopNest(op.getContext(), text, tensors);
}

} // namespace sinter
