//===- FusionUtils.h - Shared by the passes of the phase --------*- C++ -*-===//
#pragma once

#include "compiler/Analysis/KernelFamily.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Analysis/WeightValues.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include <string>

namespace sinter {

/// The fusions in a module's entries, in order.
llvm::SmallVector<FusionOp> findFusions(mlir::ModuleOp module);

/// Those of a family.
llvm::SmallVector<FusionOp> findFusions(mlir::ModuleOp module, llvm::StringRef family);

/// A remark of this phase about an entry.
inline mlir::remark::RemarkOpts getRemark(llvm::StringRef name, mlir::func::FuncOp entry) {
  return mlir::remark::RemarkOpts::name(name).category("sinter-fusion").function(entry.getName());
}

/// What ops are called, in order, without what costs nothing: "matmul + add + gelu".
std::string describeOps(llvm::ArrayRef<mlir::Operation *> ops);

/// Moves ops of one block, given in the block's order, into a fusion where the last one stood.
/// Constants with one value that they use are copied into it where the family's kernels have
/// immediate operands; values that are used elsewhere become its results. Users may stand before
/// the fusion afterwards: sort the block.
FusionOp wrapOps(llvm::ArrayRef<mlir::Operation *> ops, const KernelFamily &family);

/// A fusion, before the consumer, that computes what it does, and inside of it those results of the
/// producer that it reads. Both stay.
FusionOp joinFusions(FusionOp producer, FusionOp consumer, llvm::StringRef family);

} // namespace sinter
