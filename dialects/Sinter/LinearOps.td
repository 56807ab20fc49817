//===- LinearOps.td - Matrix products -----------------------*- tablegen -*-===//
#ifndef SINTER_LINEAR_OPS
#define SINTER_LINEAR_OPS

include "dialects/Sinter/SinterAttributes.td"

def MatmulOp : Sinter_ReferenceOp<"matmul"> {
  let summary = "result[..., n] = sum over k of lhs[..., k] * rhs[k, n]";
  let description = [{
    Accumulated in f32 whatever the operands' type (f64 for f64); the result is rounded once.
    With `transpose_rhs`, rhs is `[n, k]`.

    C1: rhs has rank 2 and lhs at least 1. C2: k agrees. C3: the result is lhs' shape with k
    replaced by n. C4: lhs and rhs have the same element type.
  }];
  let arguments = (ins Sinter_FloatTensor:$lhs, Sinter_FloatTensor:$rhs, UnitAttr:$transpose_rhs);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Rows of lhs: the product of its leading dimensions.
    int64_t getM();
    /// Columns of the result.
    int64_t getN();
    /// The contracted extent.
    int64_t getK();
  }];
}

#endif // SINTER_LINEAR_OPS
