//===- RandomOps.td - Ops with random numbers ---------------*- tablegen -*-===//
#ifndef SINTER_RANDOM_OPS
#define SINTER_RANDOM_OPS

include "dialects/Sinter/SinterAttributes.td"

def DropoutOp : Sinter_ReferenceOp<"dropout", [Sinter_Shardable, Sinter_Differentiable,
    AllTypesMatch<["operand", "result"]>]> {
  let summary = "x / (1 - probability) or, with that probability, 0";
  let description = [{
    Srivastava et al., "Dropout", 2014, inverted: the expected value is x. The random numbers are a
    function of the seed and the element, so that the backward pass, or a recomputation, drops the
    same elements: the element with the row-major index `e` is kept where word 0 of
    Philox4x32-10 (Philox.h) with the counter `(e mod 2^32, e / 2^32, stream, 0)` and the key
    `seed` is at least `probability * 2^32`, as unsigned numbers. `stream` keeps the ops of one
    program apart.

    C1: seed is `[2]`. C2: probability is at least 0 and below 1.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_IndexTensor:$seed,
                       F64Attr:$probability, I64Attr:$stream);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // SINTER_RANDOM_OPS
