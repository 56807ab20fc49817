//===- Buffers.h - Which values share memory --------------------*- C++ -*-===//
//
// In an entry after Fusion, most values get memory of their own. Two kinds do not: a reshape's
// result is its operand under another shape, and a result that replaces an operand in place is the
// operand's next *version*. Following both back ends at the value that the memory was made for.
//
//   %k                   the buffer's root, version 0: %k and %flat
//   %flat = reshape %k
//   %k1 = append %flat   version 1 of the same buffer
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace sinter {

/// The operand whose memory a value has: a reshape's operand, or what an in-place result replaces;
/// null for a value with memory of its own.
mlir::OpOperand *getSharedOperand(mlir::Value value);

/// The first value of the version that `value` belongs to: back through reshapes only.
mlir::Value getVersion(mlir::Value value);

/// The values that memory was made for. Each is found once: a sum over all layers is one buffer of
/// as many versions, and going back through them from each would take the square of the layers.
class BufferRoots {
public:
  /// The value that the memory of `value` was made for: back through reshapes and updates. What it
  /// is computed from must not change any more.
  mlir::Value get(mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

/// The values that are `version` under other shapes, itself included, in order.
llvm::SmallVector<mlir::Value> getReshapes(mlir::Value version);

/// The function's entries (functions with `sinter.entry`), in order.
llvm::SmallVector<mlir::func::FuncOp> getEntries(mlir::ModuleOp module);

/// The result that an argument is donated to, or nothing.
std::optional<unsigned> getDonation(mlir::BlockArgument argument);

} // namespace sinter
