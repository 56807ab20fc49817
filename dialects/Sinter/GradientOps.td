//===- GradientOps.td - What backward passes are made of ----*- tablegen -*-===//
#ifndef SINTER_GRADIENT_OPS
#define SINTER_GRADIENT_OPS

include "dialects/Sinter/SinterAttributes.td"

def RmsNormGradOp : Sinter_ReferenceOp<"rms_norm_grad", [Sinter_Shardable,
    DeclareOpInterfaceMethods<ComposedOpInterface>,
    AllTypesMatch<["operand", "gradient", "doperand"]>]> {
  let summary = "the gradients of an rms_norm";
  let description = [{
    With `s = 1 / sqrt(mean(x^2) + eps)` and `y = s x` of a row x of operand, and g the gradient of
    the norm's result: `doperand = s (g w - y mean(g w y))`, and row `b` of weight_partials is
    the sum of `g y` over the rows of block `b`; a `column_sum` of them is the weight's gradient.
    The rows' statistics are computed again: reading them would cost more.

    C1: weight is `[d]` for an operand `[..., d]`. C2: eps is not negative.
    C3: weight_partials is `[blocks, d]`, of the type that operand's elements are summed in.
    C4: blocks divides the number of rows.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_FloatTensor:$weight,
                       Sinter_FloatTensor:$gradient, F64Attr:$eps);
  let results = (outs Sinter_FloatTensor:$doperand, Sinter_FloatTensor:$weight_partials);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Blocks of rows that have sums of their own.
    int64_t getBlocks() { return getWeightPartials().getType().getDimSize(0); }
  }];
}

def LayerNormGradOp : Sinter_ReferenceOp<"layer_norm_grad", [Sinter_Shardable,
    DeclareOpInterfaceMethods<ComposedOpInterface>,
    AllTypesMatch<["operand", "gradient", "doperand"]>]> {
  let summary = "the gradients of a layer_norm";
  let description = [{
    With `s = 1 / sqrt(var(x) + eps)` and `y = s (x - mean(x))` of a row x of operand, and g the
    gradient of the norm's result: `doperand = s (g w - mean(g w) - y mean(g w y))`; row `b`
    of weight_partials is the sum of `g y`, of bias_partials the sum of g over the rows of block
    `b`.

    C1: weight is `[d]` for an operand `[..., d]`. C2: eps is not negative.
    C3: the partials are `[blocks, d]`, of the type that operand's elements are summed in.
    C4: blocks divides the number of rows.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_FloatTensor:$weight,
                       Sinter_FloatTensor:$gradient, F64Attr:$eps);
  let results = (outs Sinter_FloatTensor:$doperand, Sinter_FloatTensor:$weight_partials,
                      Sinter_FloatTensor:$bias_partials);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Blocks of rows that have sums of their own.
    int64_t getBlocks() { return getWeightPartials().getType().getDimSize(0); }
  }];
}

def CrossEntropyGradOp : Sinter_ReferenceOp<"cross_entropy_grad", [Sinter_Shardable,
    DeclareOpInterfaceMethods<ComposedOpInterface>, AllTypesMatch<["logits", "result"]>]> {
  let summary = "the gradient of a cross_entropy with respect to its logits";
  let description = [{
    `result[i, j] = gradient[i] (p[i, j] (1 + 2 z_loss l[i]) - [j = targets[i]])` with `p` the
    softmax of logits' rows and `l` as in `cross_entropy`; 0 for a row with a target outside
    `[0, v)`.

    C1: logits is `[n, v]`, targets and gradient are `[n]`.
    C2: gradient's element type is what logits' are summed in. C3: z_loss is not negative.
  }];
  let arguments = (ins Sinter_FloatTensor:$logits, Sinter_IndexTensor:$targets,
                       Sinter_FloatTensor:$gradient, DefaultValuedAttr<F64Attr, "0.0">:$z_loss);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

def EmbeddingGradOp : Sinter_ReferenceOp<"embedding_grad", [Sinter_PlacedShardable,
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<InPlaceOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getBytes"]>]> {
  let summary = "adds rows where an embedding read them: result[ids[...], :] += gradient[..., :]";
  let description = [{
    Starts from `into`, in whose place the result is, or from zeros; tokens are added in their
    order. An id outside of the table adds to its nearest row, the one that `embedding` read; the
    id `padding`, where there is one, adds nothing. With `start` the result is the rows of a larger
    table from `start[0]` on, and an id outside of them adds nothing, either.

    C1: gradient is ids' shape with d appended, the result is `[rows, d]` of f32 or f64.
    C2: into has the result's type. C3: start is `[1]`.
  }];
  let arguments = (ins Sinter_IndexTensor:$ids, Sinter_FloatTensor:$gradient,
                       Optional<Sinter_FloatTensor>:$into, Optional<Sinter_IndexTensor>:$start,
                       I64Attr:$rows, OptionalAttr<I64Attr>:$padding);
  let assemblyFormat = [{
    $ids `,` $gradient (`,` $into^)? (`from` $start^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

#endif // SINTER_GRADIENT_OPS
