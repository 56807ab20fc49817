//===- ReductionOps.td - Along rows -------------------------*- tablegen -*-===//
#ifndef SINTER_REDUCTION_OPS
#define SINTER_REDUCTION_OPS

include "dialects/Sinter/SinterAttributes.td"

def ReduceOp : Sinter_ReferenceOp<"reduce", [Sinter_Shardable, Sinter_Differentiable]> {
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

def ColumnSumOp : Sinter_ReferenceOp<"column_sum", [Sinter_Shardable]> {
  let summary = "sums over rows: result[..., j] = sum over i of operand[..., i, j]";
  let description = [{
    Sums the dimension before the last, in the order of the rows. A tall matrix is summed in two
    stages, reshaped to blocks of rows first: each stage then has work for every core, and the
    order of the sum does not depend on how many there are.
    C1: the result's shape is operand's without the dimension before the last.
    C2: the result's element type is what operand's are summed in: f32 for those of 16 bits.

    ```mlir
    %0 = sinter.reshape %x : (tensor<1024x768xf32>) -> tensor<64x16x768xf32>
    %1 = sinter.column_sum %0 : (tensor<64x16x768xf32>) -> tensor<64x768xf32>
    %2 = sinter.column_sum %1 : (tensor<64x768xf32>) -> tensor<768xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$operand);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

def SumPartsOp : Sinter_ReferenceOp<"sum_parts", [Sinter_Shardable]> {
  let summary = "sums over the first dimension, along a tree: result[...] = sum over i of operand[i, ...]";
  let description = [{
    What ranks have of a sum, when it has been gathered or exchanged: parts in a first dimension, in
    the order of the ranks. They are added along the tree of a step's gradients (SumTree.h): two sums
    of as many parts as soon as there are both, and what is left at the end from the last one to the
    first. Of five, ((0 + 1) + (2 + 3)) + 4. A floating-point element is added in f32 at least and
    rounded once.

    C1: the result's shape is operand's without its first dimension, of at least one part; element
    types agree.

    ```mlir
    %1 = sinter.all_gather ["data"] %0 : (tensor<8xf32>) -> tensor<4x8xf32>
    %2 = sinter.sum_parts %1 : (tensor<4x8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$operand);
  let results = (outs Sinter_Tensor:$result);
  let hasVerifier = 1;
}

def RmsNormOp : Sinter_ReferenceOp<"rms_norm", [Sinter_Shardable, Sinter_Differentiable,
    DeclareOpInterfaceMethods<ComposedOpInterface>, NormOpInterface,
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

def LayerNormOp : Sinter_ReferenceOp<"layer_norm", [Sinter_Shardable, Sinter_Differentiable,
    DeclareOpInterfaceMethods<ComposedOpInterface>, NormOpInterface,
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
  let extraClassDeclaration = [{
    bool centersRows() { return true; }
  }];
}

def CrossEntropyOp : Sinter_ReferenceOp<"cross_entropy", [Sinter_Shardable,
    DeclareOpInterfaceMethods<ComposedOpInterface>]> {
  let summary = "the negative log likelihood of each row's target";
  let description = [{
    `result[i] = l[i] - logits[i, targets[i]] + z_loss * l[i]^2` with `l[i]` the logarithm of the
    sum of e^logits[i, :]; 0 for a target outside `[0, v)`, which marks a row to be ignored. The
    last term keeps the logits' scale near one (Chowdhery et al., "PaLM", 2022, section 5).

    C1: logits is `[n, v]`, targets and the result are `[n]`.
    C2: the result's element type is what logits' are summed in. C3: z_loss is not negative.
  }];
  let arguments = (ins Sinter_FloatTensor:$logits, Sinter_IndexTensor:$targets,
                       DefaultValuedAttr<F64Attr, "0.0">:$z_loss);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // SINTER_REDUCTION_OPS
