//===- SinterDialect.h - The graph dialect ----------------------*- C++ -*-===//
#pragma once

#include "dialects/Interfaces/Interfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sinter {

/// The reference of every elementwise op: its scalar formula, element by element.
llvm::SmallVector<ReferenceTensor> evaluateElementwise(mlir::Operation *op,
                                                       llvm::ArrayRef<ReferenceTensor> operands);

/// Runs the ops of a block (all with a reference) on values for its arguments; returns the values
/// of the terminator's operands.
llvm::SmallVector<ReferenceTensor> evaluateBlock(mlir::Block &block,
                                                 llvm::ArrayRef<ReferenceTensor> arguments);

/// Rounds the elements of a tensor to numbers of bf16 as sinter.stochastic_round does.
void roundStochastically(ReferenceTensor &tensor, const ReferenceTensor &seed,
                         const ReferenceTensor &tag);

/// Erases the ops of a block that nothing uses and that have no effect, the last first.
void eraseDeadOps(mlir::Block &block);

/// The element type that sums of elements of a type are kept in: f32 for those of 16 bits.
mlir::Type getSumType(mlir::Type element);

/// Of a block that computes results from arguments: the argument that result `index` replaces in
/// place (through a chain of InPlaceOpInterface ops), or null.
mlir::BlockArgument findInPlaceArgument(mlir::Block &block, unsigned index);

/// Of a kernel's block: the arguments whose memory its largest result may be written over; they
/// have that result's type, and no other result has as many bytes. Each element of the result is
/// computed from theirs in the same place and, where a row is reduced, from those of its row, which
/// a kernel reads before it writes the row; from nothing else of theirs. All other results are
/// values a row.
llvm::SmallVector<int64_t> findReusableArguments(mlir::Block &block);

} // namespace sinter

#include "dialects/Sinter/SinterDialect.h.inc"
#include "dialects/Sinter/SinterEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Sinter/SinterAttributes.h.inc"
#define GET_OP_CLASSES
#include "dialects/Sinter/SinterOps.h.inc"
