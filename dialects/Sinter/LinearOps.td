//===- LinearOps.td - Matrix products -----------------------*- tablegen -*-===//
#ifndef SINTER_LINEAR_OPS
#define SINTER_LINEAR_OPS

include "dialects/Sinter/SinterAttributes.td"

def MatmulOp : Sinter_ReferenceOp<"matmul", [Sinter_Shardable, Sinter_Differentiable,
    AttrSizedOperandSegments]> {
  let summary = "result[..., n] = sum over k of lhs[..., k] * rhs[k, n]";
  let description = [{
    Accumulated in f32 whatever the operands' type (f64 for f64); the result is rounded once.
    With `transpose_rhs`, rhs is `[n, k]`. With `transpose_lhs`, lhs is `[k, m]` and the result
    `[m, n]`, as for the gradient of a weight, which is a sum over rows:

    ```mlir
    // The gradient of w in y = x w: x^T dy.
    %dw = sinter.matmul %x, %dy {transpose_lhs}
       : (tensor<1024x768xf32>, tensor<1024x3072xf32>) -> tensor<768x3072xf32>
    ```

    With `tf32` a device may round operands of f32 to TF32 (10 bits of mantissa) first.

    With scales rhs holds integers, or f8E4M3FN, of which each block has a scale: element `[i, j]` of the matrix
    that lhs is multiplied by is `rhs[i, j] * scales[i / a, j / b]`, where a scale is that of
    `a x b` elements, the extents of rhs over those of scales:

    ```mlir
    // One scale for 32 elements along k.
    %y = sinter.matmul %x, %q, %scales {transpose_rhs}
       : (tensor<1x768xf32>, tensor<3072x768xi8>, tensor<3072x24xf32>) -> tensor<1x3072xf32>
    ```

    With minima each block has a number, of the scales' shape, that is added to its elements:
    `rhs[i, j] * scales[i / a, j / b] + minima[i / a, j / b]`. Files that store zero points `z`
    mean the minima `-z * scale`.

    ```mlir
    %y = sinter.matmul %x, %q, %scales minima %minima {transpose_rhs}
       : (tensor<1x768xf32>, tensor<3072x768xi4>, tensor<3072x24xf32>, tensor<3072x24xf32>)
       -> tensor<1x3072xf32>
    ```

    With scales of rows lhs holds 8 bits, too, as sinter.quantize makes them, and each column of rhs
    has its own scales: what is said above, times `row_scales[...]`. Sums of the integers that share
    a scale are exact, in whole numbers of 32 bits.

    ```mlir
    %q, %rows = sinter.quantize %x : (tensor<8x768xf32>) -> (tensor<8x768xi8>, tensor<8x1xf32>)
    %y = sinter.matmul %q, %w, %scales rows %rows {transpose_rhs}
       : (tensor<8x768xi8>, tensor<3072x768xi8>, tensor<3072x1xf32>, tensor<8x1xf32>)
       -> tensor<8x3072xf32>
    ```

    Where scales and row_scales are one number each, they are those of all of rhs and of lhs, as in
    training with fp8, and either side may be transposed. Gradients are of f8E5M2 there, which has a
    larger range, what they are multiplied by of f8E4M3FN (Micikevicius et al., "FP8 Formats for Deep
    Learning", 2022, section 3).

    ```mlir
    // The gradient of w, of an activation and the gradient of the product's result.
    %dw = sinter.matmul %dy, %x, %x_scale rows %dy_scale {transpose_lhs}
       : (tensor<1024x3072xf8E5M2>, tensor<1024x768xf8E4M3FN>, tensor<1x1xf32>, tensor<1x1xf32>)
       -> tensor<3072x768xf32>
    ```

    C1: rhs has rank 2 and lhs at least 1. C2: k agrees. C3: the result is lhs' shape with k
    replaced by n. C4: lhs and rhs have the same element type, unless there are scales. C5: a
    transposed lhs has rank 2, and there are no scales but those of all of a side. C6: rhs has at most 8
    bits if and only if there are scales. C7: scales has rank 2 and extents that divide those of rhs. C8: minima has
    scales' shape. C9: lhs has 8 bits if and only if it has scales of rows. C10: these have lhs'
    shape with k replaced by 1, and rhs has scales of each column, of f8 one, or either side has one
    scale; rhs then has integers if and only if lhs does, minima only with scales of integers' columns,
    and of 8 bits no group is of more than 131071 integers, for which no sum overflows.
  }];
  let arguments = (ins Sinter_LhsTensor:$lhs, Sinter_RhsTensor:$rhs,
                       Optional<Sinter_FloatTensor>:$scales,
                       Optional<Sinter_FloatTensor>:$minima,
                       Optional<Sinter_FloatTensor>:$row_scales, UnitAttr:$transpose_rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$tf32);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`,` $scales^)? (`minima` $minima^)? (`rows` $row_scales^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$lhs, "::mlir::Value":$rhs,
      CArg<"bool", "false">:$transposeRhs, CArg<"bool", "false">:$transposeLhs), [{
    build($_builder, $_state, type, lhs, rhs, /*scales=*/::mlir::Value(),
          /*minima=*/::mlir::Value(), /*row_scales=*/::mlir::Value(), transposeRhs, transposeLhs);
  }]>];
  let extraClassDeclaration = [{
    /// Rows of the result: the product of its leading dimensions.
    int64_t getM();
    /// Columns of the result.
    int64_t getN();
    /// The contracted extent.
    int64_t getK();
    /// Whether both sides are of 8 bits, with one scale for all of each.
    bool hasTensorScales();
    /// Elements along k that share a scale. @pre there are scales
    int64_t getGroup();
    /// The largest k for which sums of products of bytes fit 32 bits.
    static constexpr int64_t kMostSummedBytes = 0x7fffffff / (128 * 128);
    /// Checks what goes with scales. @pre there are scales
    ::mlir::LogicalResult verifyScales();
  }];
}

def QuantizeOp : Sinter_ReferenceOp<"quantize", [Sinter_Shardable,
    DeclareOpInterfaceMethods<ComposedOpInterface>]> {
  let summary = "each row as numbers of 8 bits times one scale";
  let description = [{
    `scales[..., 0] = max(max over k of |x[..., k]|, 1e-30) / largest` and
    `rounded[..., k] = round(x[..., k] / scales[..., 0])`, to the even one of two. `largest` is the
    type's largest number, 127 of i8 and 448 of f8E4M3FN (Micikevicius et al., "FP8 Formats for Deep
    Learning", 2022). Rows of zeros are zeros. With it a product's left-hand side is rounded token by
    token, while it runs (Dettmers et al., "LLM.int8()", 2022, section 2), and what a cache holds.

    C1: rounded has operand's shape. C2: scales has it with 1 for the last dimension.

    ```mlir
    %q, %scales = sinter.quantize %x : (tensor<8x768xf32>) -> (tensor<8x768xi8>, tensor<8x1xf32>)
    ```
  }];
  let arguments = (ins StaticShapeTensorOf<[F32, BF16, F16]>:$operand);
  let results = (outs StaticShapeTensorOf<[I8, F8E4M3FN]>:$rounded, StaticShapeTensorOf<[F32]>:$scales);
  let hasVerifier = 1;
}

#endif // SINTER_LINEAR_OPS
