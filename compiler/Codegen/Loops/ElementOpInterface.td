//===- ElementOpInterface.td - Ops that give single elements -*- tablegen -*-===//
#ifndef SINTER_ELEMENT_OP_INTERFACE
#define SINTER_ELEMENT_OP_INTERFACE

include "mlir/IR/Interfaces.td"

def ElementOpInterface : OpInterface<"ElementOpInterface"> {
  let description = [{
    An op of which a loop kernel can compute any element of the result by itself. Elementwise ops
    and ops that only move elements say all there is to say by interfaces of their own; this one is
    for ops that choose by position or by data and for those that compute with the position. Ops
    get it from outside (ElementModels.cpp), because it is about code and not about the graph.

    `index` is the multi-index of an element of the result.
  }];
  let cppNamespace = "::sinter";
  let methods = [
    InterfaceMethod<[{
        Where data choose the row that the element is found in: what the choice depends on.
      }], "::std::optional<::sinter::RowChoice>", "getRowChoice",
      (ins "const ::sinter::IndexSpace &":$space, "::llvm::ArrayRef<::mlir::AffineExpr>":$index),
      "", "return ::std::nullopt;">,
    InterfaceMethod<[{
        Emits the row's number, of type index, which need not be one that exists: the emitter takes
        the nearest. `index` is the choice's.
      }], "::mlir::FailureOr<::mlir::Value>", "emitChosenRow",
      (ins "::sinter::ElementEmitter &":$emitter, "::llvm::ArrayRef<::mlir::AffineExpr>":$index),
      "", "return ::mlir::failure();">,
    InterfaceMethod<[{
        The elements that the element is made of, `row` being the chosen row if there is one;
        nothing where that differs within the ranges of the index.
      }], "::llvm::SmallVector<::sinter::ElementSource>", "getSources",
      (ins "const ::sinter::IndexSpace &":$space, "::llvm::ArrayRef<::mlir::AffineExpr>":$index,
           "::mlir::AffineExpr":$row)>,
    InterfaceMethod<[{
        Where along which dimension other elements begin to be computed in another way.
      }], "::llvm::SmallVector<::sinter::Boundary>", "getBoundaries", (ins), "", "return {};">,
    InterfaceMethod<"Emits the element, in its compute type. Fails with a diagnostic.",
      "::mlir::FailureOr<::mlir::Value>", "emitElement",
      (ins "::sinter::ElementEmitter &":$emitter, "::llvm::ArrayRef<::mlir::AffineExpr>":$index)>,
  ];
}

#endif
