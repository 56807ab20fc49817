//===- PlanDialect.h - Commands over fixed buffers --------------*- C++ -*-===//
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sinter::plan {
/// What the names of states begin with that are scratch of a kernel; the kernel's follows.
inline constexpr llvm::StringLiteral kScratchPrefix = "scratch.";

/// The elements of a constant as they lie in memory, row-major, splats written out.
llvm::SmallVector<char> getElementBytes(mlir::ElementsAttr elements);
} // namespace sinter::plan

#include "dialects/Plan/PlanDialect.h.inc"
#include "dialects/Plan/PlanEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Plan/PlanInterfaces.h.inc"
#include "dialects/Plan/PlanTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.h.inc"
