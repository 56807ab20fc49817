//===- ReductionOps.td - Along rows -------------------------*- tablegen -*-===//
#ifndef SINTER_REDUCTION_OPS
#define SINTER_REDUCTION_OPS

include "dialects/Sinter/SinterAttributes.td"

def ReduceOp : Sinter_ReferenceOp<"reduce"> {
  let summary = "combines the elements of each row";
  let description = [{
    Reduces the last dimension; sums are accumulated in f32 at least, in a fixed order.
    C1: the result's shape is operand's without its last dimension; element types agree.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_ReductionKind:$kind);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$kind $operand attr-dict `:` functional-type(operands, results)";
}

def RmsNormOp : Sinter_ReferenceOp<"rms_norm", [DeclareOpInterfaceMethods<ComposedOpInterface>,
    AllTypesMatch<["operand", "result"]>]> {
  let summary = "x / sqrt(mean(x^2) + eps) * weight, along rows";
  let description = [{
    Zhang, Sennrich, "Root mean square layer normalization", 2019, equation 4.
    C1: weight is `[d]` for an operand `[..., d]`. C2: eps is not negative.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_FloatTensor:$weight, F64Attr:$eps);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

def LayerNormOp : Sinter_ReferenceOp<"layer_norm", [DeclareOpInterfaceMethods<ComposedOpInterface>,
    AllTypesMatch<["operand", "result"]>]> {
  let summary = "(x - mean(x)) / sqrt(var(x) + eps) * weight + bias, along rows";
  let description = [{
    Ba, Kiros, Hinton, "Layer normalization", 2016, equation 4; the variance is biased.
    C1: weight, and bias where there is one, are `[d]` for an operand `[..., d]`.
    C2: eps is not negative.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_FloatTensor:$weight,
                       Optional<Sinter_FloatTensor>:$bias, F64Attr:$eps);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // SINTER_REDUCTION_OPS
