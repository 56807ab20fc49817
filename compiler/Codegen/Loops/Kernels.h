//===- Kernels.h - From a kernel of tensor ops to loops ---------*- C++ -*-===//
//
// What the targets' code generators have in common: where the loop kernels are and what is said of
// them, and the generator of rows kernels. One function a family; each is given the
// outlined kernel (a func.func on tensors with `sinter.kernel`) and an empty loop kernel
//
//   func.func @name(%a0: memref<N0xT0>, ..., %begin: index, %end: index) { return }
//
// with one flat memref of storage elements an operand, then one a result, and fills in code that
// runs the work items [begin, end): before the `return` of the entry block. Work items are
// independent of each other, so that any split over threads gives the same bits. The function
// returns how many there are, or emits a diagnostic "expected ..." and fails.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Analysis/KernelFamily.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter {

/// Name of the attribute with the number of work items (on CUDA: of blocks), on the tensor-level
/// kernel.
inline constexpr llvm::StringLiteral kGridAttribute = "sinter.grid";
/// Name of the module that holds the loop kernels.
inline constexpr llvm::StringLiteral kKernelsModule = "kernels";

/// The module with the loop kernels inside `module`, or null.
inline mlir::ModuleOp lookupKernels(mlir::ModuleOp module) {
  return module.lookupSymbol<mlir::ModuleOp>(kKernelsModule);
}

/// Kernels on tensors, in order, and the module that the loop kernels for them go into.
struct KernelsToLower {
  llvm::SmallVector<std::pair<mlir::func::FuncOp, const KernelFamily *>> kernels;
  mlir::ModuleOp code;
};

/// The kernels of a module with their families, and a module for their code at the end of theirs,
/// with its target; null where there are none. Fails where a kernel has a family that does not
/// exist, or the module says no target.
mlir::FailureOr<KernelsToLower> createKernelsModule(mlir::ModuleOp module);

/// An empty loop kernel for a kernel on tensors. Memory that nothing else in the kernel may be is
/// marked `llvm.noalias`: not a result that is, or may be put, in an operand's place.
mlir::func::FuncOp createLoopKernel(mlir::OpBuilder &builder, mlir::func::FuncOp kernel);

/// How rows kernels are generated for a target; the defaults are a CPU's.
struct RowsOptions {
  /// Bytes that the row buffers of a kernel may take together.
  int64_t bufferBytes = 64 * 1024;
  /// Whether a row that is loaded for a reduction and needed again after it is kept in a buffer:
  /// where a buffer is registers and there is no large cache.
  bool keepsLoads = false;
  /// Whether sums over columns accumulate in a buffer instead of the result's memory.
  bool keepsSums = false;
  /// Whether what takes random numbers calls a function (`is_kept`, `stochastic_round`) instead of
  /// having its code inside. It is declared in the kernels' module, with kLibraryAttribute.
  bool callsLibrary = false;
  /// Whether exponentials of numbers that were rounded to 16 bits, and divisions beside them, may
  /// be approximate (`fastmath<afn>`): to some 2^-21, which the inputs' rounding hides.
  bool approximates = false;
  /// Work items that a kernel of column sums alone is cut into, and columns that are not cut
  /// further.
  int64_t sumItems = 16, sumColumns = 64;
  /// Rows that such a kernel adds side by side, each for all columns of an item: the loop over them
  /// and the columns is marked as parallel. 1: one after the other.
  int64_t sumGroups = 1;
  /// Where a kernel without reductions has fewer items than `pieces`, its rows are cut into pieces
  /// of at most `pieceColumns`.
  int64_t pieces = 0, pieceColumns = 1024;
};

/// Name of the unit attribute of a loop with loops inside whose steps are independent of each
/// other.
inline constexpr llvm::StringLiteral kParallelAttribute = "sinter.parallel";

/// Name of the unit attribute of a declaration that stands for a function of a device's library.
inline constexpr llvm::StringLiteral kLibraryAttribute = "sinter.library";

/// Elementwise ops, ops that move elements, ops with elements of their own (ElementOpInterface.td)
/// and row reductions, in any combination and of any shape; cache updates and sums over columns as
/// results. A constant is a splat.
mlir::FailureOr<int64_t> lowerRowsKernel(mlir::func::FuncOp tensorKernel,
                                         mlir::func::FuncOp loopKernel, const RowsOptions &options);

} // namespace sinter
