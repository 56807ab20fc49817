//===- FusionOps.td - What becomes one kernel ---------------*- tablegen -*-===//
#ifndef SINTER_FUSION_OPS
#define SINTER_FUSION_OPS

include "dialects/Sinter/SinterAttributes.td"

def FusionOp : Sinter_ReferenceOp<"fusion", [IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<InPlaceOpInterface>]> {
  let summary = "ops that run as one kernel";
  let description = [{
    The region's arguments are the operands, its `yield` the results. `family` names the
    family of kernels that it is one of (compiler/Analysis/KernelFamily.h). Only the operands and the
    results cross memory.

    C1: block arguments have the operands' types. C2: yielded values have the results' types.

    ```mlir
    %y = sinter.fusion rows(%x, %w : tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>) {
    ^bb0(%a: tensor<4x8xf32>, %b: tensor<8xf32>):
      %0 = sinter.rms_norm %a, %b {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
      sinter.yield %0 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$inputs, StrAttr:$family);
  let results = (outs Variadic<Sinter_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let assemblyFormat = [{
    custom<Family>($family) `(` $inputs `:` type($inputs) `)` `->` `(` type($outputs) `)` $body attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::Block *getBlock() { return &getBody().front(); }
    /// The values that the region yields.
    ::mlir::OperandRange getYielded() { return getBlock()->getTerminator()->getOperands(); }
  }];
}

def YieldOp : Op<SinterDialect, "yield", [Pure, ReturnLike, Terminator, HasParent<"FusionOp">]> {
  let summary = "the results of a fusion";
  let arguments = (ins Variadic<Sinter_Tensor>:$operands);
  let assemblyFormat = "$operands attr-dict `:` type($operands)";
}

def CallKernelOp : Sinter_ReferenceOp<"call_kernel", [
    DeclareOpInterfaceMethods<InPlaceOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs an outlined kernel";
  let description = [{
    `kernel` is a private func.func with the attribute `sinter.kernel` (its family); equal
    fusions share one.
    C1: the kernel exists. C2: its type is operands -> results.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Sinter_Tensor>:$inputs);
  let results = (outs Variadic<Sinter_Tensor>:$outputs);
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
}

#endif // SINTER_FUSION_OPS
