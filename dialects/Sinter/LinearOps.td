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

    C1: rhs has rank 2 and lhs at least 1. C2: k agrees. C3: the result is lhs' shape with k
    replaced by n. C4: lhs and rhs have the same element type. C5: a transposed lhs has rank 2.
  }];
  let arguments = (ins Sinter_FloatTensor:$lhs, Sinter_FloatTensor:$rhs, UnitAttr:$transpose_rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$tf32);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Rows of the result: the product of its leading dimensions.
    int64_t getM();
    /// Columns of the result.
    int64_t getN();
    /// The contracted extent.
    int64_t getK();
  }];
}

#endif // SINTER_LINEAR_OPS
