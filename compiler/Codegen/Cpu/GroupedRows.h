//===- GroupedRows.h - What kernels of grouped products share ---*- C++ -*-===//
#pragma once

#include "compiler/Codegen/Cpu/VectorBuilder.h"

namespace sinter {

/// The bounds of a group's rows, of a tensor of `rows`: inside of it, whatever the offsets are.
std::pair<mlir::Value, mlir::Value> loadBoundsOfGroup(VectorBuilder &builder, mlir::Value offsets,
                                                      mlir::Value group, int64_t rows);

/// One grouped_matmul by integers.
mlir::FailureOr<int64_t> lowerGroupedIntegerKernel(GroupedMatmulOp matmul,
                                                   mlir::func::FuncOp loopKernel,
                                                   const TargetAttr &target);

} // namespace sinter
