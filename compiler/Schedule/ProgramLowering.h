//===- ProgramLowering.h - One entry becomes a program ----------*- C++ -*-===//
#pragma once

#include "compiler/Schedule/SpaceLayout.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace sinter {

/// The spaces that all programs share.
struct SharedSpaces {
  /// By place along a pipeline, of which ranks have parameters and states of their own; one
  /// without.
  std::map<int64_t, NamedSpace> parameters, states;
  /// What a microbatch has in flight, by stage, and its slices, at offsets from where that begins.
  std::map<int64_t, NamedSpace> flights;
  llvm::SmallVector<std::pair<plan::SliceOp, int64_t>> flightSlices;
  /// The checkpoint's tensors, and how each begins without one (null: the default of its name).
  llvm::MapVector<mlir::StringAttr, std::pair<mlir::RankedTensorType, NormalAttr>> checkpoint;
  ConstantSpace constants;
  /// By place, tensors of the checkpoint that steps read as they are: `@preprocess` copies them to
  /// parameters.
  std::map<int64_t, llvm::MapVector<mlir::StringAttr, mlir::Type>> unprocessed;
};

/// The name among the parameters of a checkpoint's tensor that nothing preprocesses.
std::string getUnprocessedName(mlir::StringAttr tensor);

/// Creates, before an entry, the plan.program of its name; the entry stays. Emits an error and
/// fails on what a plan cannot hold.
/// @param kernels those of the module.
mlir::LogicalResult lowerEntry(mlir::func::FuncOp entry, const mlir::SymbolTable &kernels,
                               SharedSpaces &spaces);

} // namespace sinter
