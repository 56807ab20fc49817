//===- ElementOpInterface.h - Ops that give single elements -----*- C++ -*-===//
#pragma once

#include "compiler/Codegen/Loops/IndexSpace.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace sinter {

class ElementEmitter;

/// A multi-index of an element: expressions over the dimensions of an IndexSpace.
using ElementIndex = llvm::SmallVector<mlir::AffineExpr>;

/// An element that another is made of.
struct ElementSource {
  mlir::Value tensor;
  ElementIndex index;
};

/// A row that data choose.
struct RowChoice {
  /// What the choice depends on.
  ElementIndex index;
  /// How many rows there are to choose from.
  int64_t rows;
};

/// From index `at` on along dimension `dim`, elements are computed in another way than before it.
struct Boundary {
  int64_t dim, at;
};

/// Gives Sinter's ops the ElementOpInterface, which lowerRowsKernel asks for.
void registerElementModels(mlir::DialectRegistry &registry);

} // namespace sinter

#include "compiler/Codegen/Loops/ElementOpInterface.h.inc"
