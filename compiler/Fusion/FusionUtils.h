//===- FusionUtils.h - Shared by the passes of the phase --------*- C++ -*-===//
#pragma once

#include "compiler/Analysis/Target.h"
#include "compiler/Analysis/WeightValues.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include <string>

namespace sinter {

/// The fusions of a kind in a module's entries, in order.
llvm::SmallVector<FusionOp> findFusions(mlir::ModuleOp module, FusionKind kind);

/// A remark of this phase about an entry.
inline mlir::remark::RemarkOpts getRemark(llvm::StringRef name, mlir::func::FuncOp entry) {
  return mlir::remark::RemarkOpts::name(name).category("sinter-fusion").function(entry.getName());
}

/// What ops are called, in order, without what costs nothing: "matmul + add + gelu".
std::string describeOps(llvm::ArrayRef<mlir::Operation *> ops);

/// Moves ops of one block, given in the block's order, into a fusion where the last one stood.
/// Constants with one value that they use are copied into it, unless it is an attention, which
/// reads its operands from memory; values that are used elsewhere become its results. Users may
/// stand before the fusion afterwards: sort the block.
FusionOp wrapOps(llvm::ArrayRef<mlir::Operation *> ops, FusionKind kind);

/// A fusion, before the consumer, that computes what it does, and inside of it those results of the
/// producer that it reads. Both stay.
FusionOp joinFusions(FusionOp producer, FusionOp consumer, FusionKind kind);

} // namespace sinter
