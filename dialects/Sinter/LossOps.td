//===- LossOps.td - What training minimizes -----------------*- tablegen -*-===//
#ifndef SINTER_LOSS_OPS
#define SINTER_LOSS_OPS

include "dialects/Sinter/SinterAttributes.td"

def LinearCrossEntropyOp : Sinter_ReferenceOp<"linear_cross_entropy", [Sinter_Shardable,
    Sinter_Differentiable]> {
  let summary = "cross_entropy(softcap(hidden . weight + bias), targets), a block of rows at a time";
  let description = [{
    The negative log-likelihood of every row's target, without holding the logits of all rows:
    Autodiff writes it out as products and row reductions over `chunk` rows each (the last block
    may be shorter). Its adjoint computes the logits of a block once for the loss and for the
    gradient, so that they live no longer than that. A target outside `[0, v)` is ignored.

    C1: hidden is `[n, d]`, targets `[n]` and the result `[n]` of hidden's element type.
    C2: weight is `[d, v]`, or `[v, d]` with `transpose_weight`; bias is `[v]`.
    C3: chunk is positive. C4: softcap, where given, is positive. C5: z_loss is not negative.
  }];
  let arguments = (ins Sinter_FloatTensor:$hidden, Sinter_FloatTensor:$weight,
                       Optional<Sinter_FloatTensor>:$bias, Sinter_IndexTensor:$targets,
                       UnitAttr:$transpose_weight, OptionalAttr<F64Attr>:$softcap,
                       DefaultValuedAttr<F64Attr, "0.0">:$z_loss, I64Attr:$chunk);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Columns of the logits.
    int64_t getClasses();
    /// Writes the op out before itself; its uses take the new value, it has none left.
    void expand(::mlir::OpBuilder &builder);
  }];
}

#endif // SINTER_LOSS_OPS
