//===- LinearOps.td - Matrix products -----------------------*- tablegen -*-===//
#ifndef SINTER_LINEAR_OPS
#define SINTER_LINEAR_OPS

include "dialects/Sinter/SinterAttributes.td"

def MatmulOp : Sinter_ReferenceOp<"matmul", [Sinter_Shardable, Sinter_Differentiable]> {
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

    With scales rhs holds integers, of which each block has a scale: element `[i, j]` of the matrix
    that lhs is multiplied by is `rhs[i, j] * scales[i / a, j / b]`, where a scale is that of
    `a x b` elements, the extents of rhs over those of scales:

    ```mlir
    // One scale for 32 elements along k.
    %y = sinter.matmul %x, %q, %scales {transpose_rhs}
       : (tensor<1x768xf32>, tensor<3072x768xi8>, tensor<3072x24xf32>) -> tensor<1x3072xf32>
    ```

    C1: rhs has rank 2 and lhs at least 1. C2: k agrees. C3: the result is lhs' shape with k
    replaced by n. C4: lhs and rhs have the same element type, unless there are scales. C5: a
    transposed lhs has rank 2, and there are no scales. C6: rhs has integers if and only if there
    are scales. C7: scales has rank 2 and extents that divide those of rhs.
  }];
  let arguments = (ins Sinter_FloatTensor:$lhs, Sinter_RhsTensor:$rhs,
                       Optional<Sinter_FloatTensor>:$scales, UnitAttr:$transpose_rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$tf32);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$lhs, "::mlir::Value":$rhs,
      CArg<"bool", "false">:$transposeRhs, CArg<"bool", "false">:$transposeLhs), [{
    build($_builder, $_state, type, lhs, rhs, /*scales=*/::mlir::Value(), transposeRhs, transposeLhs);
  }]>];
  let extraClassDeclaration = [{
    /// Rows of the result: the product of its leading dimensions.
    int64_t getM();
    /// Columns of the result.
    int64_t getN();
    /// The contracted extent.
    int64_t getK();
    /// Elements along k that share a scale. @pre there are scales
    int64_t getGroup();
  }];
}

#endif // SINTER_LINEAR_OPS
