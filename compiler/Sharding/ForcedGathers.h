//===- ForcedGathers.h - What no recipe asked to be gathered ----*- C++ -*-===//
#pragma once

#include "compiler/Sharding/AssignLoops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

/// Keeps account of what every rank of a function has to gather because an op has no loop that may
/// be split.
class ForcedGathers {
public:
  /// Notes what of an op's operands, of which `held` is there, that is. What ends in less than a
  /// rank's part, as the draw of a token, is as good as moved.
  void note(mlir::Operation *op, const LoopAssignment &split, llvm::ArrayRef<ShardedValue> held);

  /// Warns of it, or with `forbid` fails with an error: the op, the layer, the tensor and the bytes
  /// of the first, and how many more there are.
  mlir::LogicalResult report(mlir::func::FuncOp function, bool forbid) const;

private:
  std::string first;
  unsigned count = 0;
};

} // namespace sinter
