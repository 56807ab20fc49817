//===- RandomOps.td - Ops with random numbers ---------------*- tablegen -*-===//
#ifndef SINTER_RANDOM_OPS
#define SINTER_RANDOM_OPS

include "dialects/Sinter/SinterAttributes.td"

def DropoutOp : Sinter_ReferenceOp<"dropout", [Sinter_PlacedShardable, Sinter_Differentiable,
    AllTypesMatch<["operand", "result"]>]> {
  let summary = "x / (1 - probability) or, with that probability, 0";
  let description = [{
    Srivastava et al., "Dropout", 2014, inverted: the expected value is x. The random numbers are a
    function of the seed and the element, so that the backward pass, or a recomputation, drops the
    same elements: the element with the row-major index `e` is kept where word 0 of
    Philox4x32-10 (Philox.h) with the counter `(e mod 2^32, e / 2^32, stream, 0)` and the key
    `seed` is at least `probability * 2^32`, as unsigned numbers. `stream` keeps the ops of one
    program apart. Of a part of a tensor, `e` is the number in all of it, whose shape is `whole`, and
    a third number in `seed` is that of the part's first element.

    C1: seed is `[2]`, or `[3]` with `whole`, of operand's rank. C2: probability is at least 0 and below 1.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_IndexTensor:$seed,
                       F64Attr:$probability, I64Attr:$stream,
                       OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

def StochasticRoundOp : Sinter_ReferenceOp<"stochastic_round", [Sinter_Shardable,
    AllShapesMatch<["operand", "result"]>]> {
  let summary = "x in bf16, rounded up or down at random such that the expected value is x";
  let description = [{
    Gupta et al., "Deep learning with limited numerical precision", 2015, section 3: away from zero
    with the probability of the part of bf16's last place that x has beyond it, toward zero
    otherwise, in steps of 2^-16. For the element with the row-major index `e`,

    ```
    bits(result) = floor((bits(x) + floor(r / 2^16)) / 2^16)
    ```

    with r word 0 of Philox4x32-10 (Philox.h) with the counter `(e mod 2^32, e / 2^32, tag[0],
    tag[1])` and the key `seed`, which is a dropout's generator: `tag` keeps tensors of one program
    apart, and is data so that tensors of one shape share a kernel. What bf16 can hold stays as it
    is, and so do infinities; NaNs stay NaNs.

    C1: the operand is of f32 and the result of bf16. C2: seed and tag are `[2]`.

    ```mlir
    %1 = sinter.stochastic_round %0, %seed, %tag
      : (tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xbf16>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_IndexTensor:$seed,
                       Sinter_IndexTensor:$tag);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

def SampleOp : Sinter_ReferenceOp<"sample", [Sinter_Shardable]> {
  let summary = "an id of each row, drawn by the row's logits";
  let description = [{
    The token that follows each slot's `start[b] + count[b]` tokens. Everything but the logits'
    shape is data, so that one compiled step serves every request. Of row l, with ids ordered by
    logit, the larger first, of equal ones the lower id first:

    1. `top_k[b]` of at least 1 keeps the first that many ids, else all.
    2. Id i weighs `w[i] = floor(2^33 e^((l[i] - max l) / temperature[b]))`. These are whole numbers
       whose sums are exact in f64, so that no order of summation changes a result.
    3. `top_p[b]` below 1 keeps the fewest of them, from the first on, that weigh together at least
       `top_p[b]` of what all of them weigh; one at the least.
    4. `min_p[b]` above 0 makes weights below `2^33 min_p[b]` 0; at most 1, the likeliest stays.
    5. One of the kept ids is drawn with a probability proportional to its weight: the first at
       which the running sum of weights is above `u` times the sum of all. The sum runs in the order
       of ids, but that those with the least logit that was kept come last where `top_k[b]` is from
       1 to the number of ids, or `top_p[b]` below 1.
       `u = (floor(r[0] / 2^5) 2^26 + floor(r[1] / 2^6)) / 2^53` with r the words of Philox4x32-10
       (Philox.h) with the counter `(start[b] + count[b], 0, 0, 0)` and the key `seed[b]`.

    Where `temperature[b]` is not above 0, the result is the first id of the order. Where a logit is
    NaN, or the largest is infinite, there is nothing to draw by: it is -1.

    The draw of a slot is a function of its own seed, position and logits: of no other slot, and not
    of how the sequence was cut into steps. Order and meaning of temperature, top-k, top-p and min-p
    (Fan et al., "Hierarchical neural story generation", 2018; Holtzman et al., "The curious case of
    neural text degeneration", 2020; Nguyen et al., "Turning up the heat: min-p sampling", 2024) are
    those of transformers' LogitsProcessorList, but for ids equal to the k-th, all of which it keeps.
    What is smaller than 2^-33 of the likeliest is never drawn.

    C1: logits is `[b, v]` of f32 with v at most 2^20. C2: temperature, top_p and min_p are
    `[b]` of f32. C3: top_k, start, count and the result are `[b]`, seed is `[b, 2]`.

    ```mlir
    %token = sinter.sample %logits, %temperature, %top_k, %top_p, %min_p, %seed, %start, %count
      : (tensor<2x50257xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>,
         tensor<2x2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$logits, Sinter_FloatTensor:$temperature,
                       Sinter_IndexTensor:$top_k, Sinter_FloatTensor:$top_p,
                       Sinter_FloatTensor:$min_p, Sinter_IndexTensor:$seed, Sinter_IndexTensor:$start,
                       Sinter_IndexTensor:$count);
  let results = (outs Sinter_IndexTensor:$result);
  let hasVerifier = 1;
}

#endif // SINTER_RANDOM_OPS
