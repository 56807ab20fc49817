//===- ThreadLoops.h - Loops over the threads of a work item ----*- C++ -*-===//
//
// What the passes ask of a generated kernel: which loops are spread over threads, which memory
// accesses follow their counters, and what is known of an index.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace sinter {

/// The loop over the work items of a generated kernel, or null where there is none (any more).
mlir::scf::ForOp findItemLoop(mlir::func::FuncOp kernel);

/// A generated kernel that goes over its work items, and the kernel on tensors that it is for.
struct ItemKernel {
  mlir::func::FuncOp kernel;
  mlir::scf::ForOp itemLoop;
  mlir::func::FuncOp tensors; ///< null where there is none of the name
  mlir::IntegerAttr items;    ///< what `tensors` says of them, or null
};

/// The kernels of `code`, the module of loop kernels inside `module`, that have such a loop.
llvm::SmallVector<ItemKernel> findItemKernels(mlir::ModuleOp module, mlir::ModuleOp code);

/// Makes `parts` items of each work item: what uses its number uses it divided by them. Returns
/// which part an item is, and builds behind that.
mlir::Value divideItems(mlir::OpBuilder &builder, mlir::scf::ForOp itemLoop, int64_t parts);

/// The constant range of a loop with step 1, or nothing.
struct LoopRange {
  int64_t lower = 0, upper = 0;
  int64_t getExtent() const { return upper - lower; }
  bool operator==(const LoopRange &other) const = default;
};
std::optional<LoopRange> getRange(mlir::scf::ForOp loop);

/// Whether a loop is one over threads (has `sinter.lanes`), and its lanes.
bool isSpread(mlir::Operation *op);
int64_t getLanes(mlir::scf::ForOp loop);

/// A load or a store of one element.
struct Access {
  mlir::Operation *op = nullptr;
  mlir::Value memory, index;
  bool writes = false;

  /// The access that an op is, or nothing.
  static std::optional<Access> of(mlir::Operation *op);
  mlir::Type getElementType() const {
    return mlir::cast<mlir::MemRefType>(memory.getType()).getElementType();
  }
};

/// Calls `visit` for every access inside of an op, in their order.
void forAccesses(mlir::Operation *op, llvm::function_ref<void(const Access &)> visit);

/// Whether a kernel may write memory that it reads: an argument, or two that may be the same
/// memory. Its own buffers do not count.
bool writesWhatIsRead(mlir::func::FuncOp kernel);

/// The largest power of two that divides an index for certain, where `counter` counts in multiples
/// of `step`.
int64_t getDivisor(mlir::Value index, mlir::Value counter, int64_t step);

/// By how much `index` grows from a lane to the next, of lanes whose first has a `counter` that is
/// a multiple of their number; nothing where that is not the same for all of them. Of
/// (i floordiv 64) * 128 + i mod 64 it is 1 for 8 lanes.
std::optional<int64_t> getLaneStride(mlir::Value index, mlir::Value counter, int64_t lanes);

/// Whether two indices are the same whenever two counters are. The counters may be null.
bool areEquivalent(mlir::Value a, mlir::Value counterA, mlir::Value b, mlir::Value counterB);

} // namespace sinter
