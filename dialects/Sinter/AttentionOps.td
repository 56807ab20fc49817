//===- AttentionOps.td - Attention and what surrounds it ----*- tablegen -*-===//
#ifndef SINTER_ATTENTION_OPS
#define SINTER_ATTENTION_OPS

include "dialects/Sinter/SinterAttributes.td"

def AttentionOp : Sinter_ReferenceOp<"attention", [Sinter_PlacedShardable, AttrSizedOperandSegments,
    Sinter_Differentiable]> {
  let summary = "softmax(scale * q.k + bias, masked) . v";
  let description = [{
    Vaswani et al., "Attention is all you need", 2017, equation 1, for `h` query heads over `g`
    key-value heads (query head `i` reads head `i / (h / g)`).

    Query `t` of slot `b` stands at position `p = start[b] + t` (`t` without start); key `j` stands
    at position `j`. It is visible when `j < s`, when `j <= p` if causal, when `p - j < window` if
    there is a window, and when `j >= first[b, t]` if there is a first (the queries of a document
    do not see the one before). A score is `scale * q.k`, then `softcap * tanh(score / softcap)` if
    there is a soft cap, then `- slope[i] * (p - j)` if there are ALiBi slopes (Press et al., 2021).
    A query that sees nothing has the result zero.

    `logsumexp` is the logarithm of the sum of `exp(score)` over the visible keys (minus infinity
    where there is none): with it the weights can be computed again without another softmax.

    Dropout sets weights to zero with that probability and divides the others by what remains of
    one: weight `(b, i, t, j)` of `[b, h, t, s]` is kept where sinter.dropout with `stream` and
    `seed` keeps the element of that number. The logsumexp is that of all scores. Of a part of an
    attention, `[b, h, t, s]` is `whole`, and a third number in `seed` that of the part's first weight.

    Keys and values of 8 bits are rows of sinter.quantize: they stand for `k[b, j, g] *
    key_scales[b, j, g]` and `v[b, j, g] * value_scales[b, j, g]`.

    C1: q is `[b, t, h, d]`, k and v are `[b, s, g, d]`, the result has q's shape.
    C2: g divides h. C3: start is `[b]`. C4: alibi_slopes is `[h]`.
    C5: window and softcap, where given, are positive. C6: k and v have the same element type.
    C7: first is `[b, t]`. C8: logsumexp is `[b, t, h]`. C9: dropout is at least 0 and below 1;
    seed is given exactly if dropout is not 0, and `[2]`, or `[3]` with `whole`, which has four extents.
    C10: key_scales and value_scales are given exactly if k and v have 8 bits, and `[b, s, g, 1]`.
  }];
  let arguments = (ins Sinter_FloatTensor:$query, Sinter_CacheTensor:$key, Sinter_CacheTensor:$value,
                       Optional<Sinter_IndexTensor>:$start, Optional<Sinter_IndexTensor>:$first,
                       Optional<Sinter_FloatTensor>:$alibi_slopes,
                       Optional<Sinter_IndexTensor>:$seed,
                       Optional<StaticShapeTensorOf<[F32]>>:$key_scales,
                       Optional<StaticShapeTensorOf<[F32]>>:$value_scales,
                       F64Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$window,
                       OptionalAttr<F64Attr>:$softcap,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout,
                       DefaultValuedAttr<I64Attr, "0">:$stream,
                       OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Sinter_FloatTensor:$result, Optional<Sinter_FloatTensor>:$logsumexp);
  let hasVerifier = 1;
}

def AttentionGradOp : Sinter_ReferenceOp<"attention_grad", [Sinter_PlacedShardable,
    AttrSizedOperandSegments]> {
  let summary = "gradients of attention's query, key and value";
  let description = [{
    Dao, "FlashAttention-2", 2023, algorithm 2. `gradient` is that of attention's result, for the
    same operands and attributes as attention's; `logsumexp` is attention's, and
    `delta[b, t, h]` the sum over d of `gradient * result`, less the gradient of attention's logsumexp
    where there is one. With the weights
    `P = exp(score - logsumexp)` of the visible keys

    ```
    dV = P^T gradient          dS = P * (gradient V^T - delta) * (1 - (capped / softcap)^2)
    dQ = scale * dS K          dK = scale * dS^T Q
    ```
    where `capped` is the score before ALiBi's part, and its factor is there only with a soft cap.
    With dropout, `P` of dV and `gradient V^T` are multiplied with what the weights were; `whole` is
    attention's.
    Gradients of a key-value head are sums over the query heads that read it.

    C1: query and gradient are `[b, t, h, d]`, key and value `[b, s, g, d]`; the results have the
    shapes of query, key and value.
    C2: g divides h. C3: start is `[b]`. C4: alibi_slopes is `[h]`.
    C5: window and softcap, where given, are positive. C6: k and v have the same element type.
    C7: first is `[b, t]`. C8: logsumexp and delta are `[b, t, h]`. C9: dropout is at least 0 and
    below 1; seed is given exactly if dropout is not 0, and `[2]`, or `[3]` with `whole`, which has four
    extents.

    ```mlir
    %dq, %dk, %dv = sinter.attention_grad %q, %k, %v, %gradient, %logsumexp, %delta
        {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>} : ...
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$query, Sinter_FloatTensor:$key, Sinter_FloatTensor:$value,
                       Sinter_FloatTensor:$gradient, Sinter_FloatTensor:$logsumexp,
                       Sinter_FloatTensor:$delta, Optional<Sinter_IndexTensor>:$start,
                       Optional<Sinter_IndexTensor>:$first,
                       Optional<Sinter_FloatTensor>:$alibi_slopes,
                       Optional<Sinter_IndexTensor>:$seed,
                       F64Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$window,
                       OptionalAttr<F64Attr>:$softcap,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout,
                       DefaultValuedAttr<I64Attr, "0">:$stream,
                       OptionalAttr<DenseI64ArrayAttr>:$whole);
  let results = (outs Sinter_FloatTensor:$query_gradient, Sinter_FloatTensor:$key_gradient,
                      Sinter_FloatTensor:$value_gradient);
  let hasVerifier = 1;
}

def LinearAttentionOp : Sinter_ReferenceOp<"linear_attention", [Sinter_Shardable,
    DeclareOpInterfaceMethods<DifferentiableOpInterface, ["hasAdjoint"]>,
    DeclareOpInterfaceMethods<InPlaceOpInterface>, AttrSizedOperandSegments]> {
  let summary = "a state that decays and takes in keys and values, read by queries";
  let description = [{
    Yang et al., "Gated Delta Networks", 2025, equation 10. Each of `h` value heads has a matrix `S`,
    `[dk, dv]`, and reads the queries and keys of head `i / (h / g)` of `g`. Token after token,

    ```
    S <- exp(decay) S
    S <- S + k (beta (v - S^T k))^T          result = scale * S^T q
    ```
    What `S` says of a key is moved towards its value by `beta`. Queries and keys come as they are to
    be used: who wants them normalized does that before.

    If `additive`, `S` is not asked of the key: `S <- S + k (beta v)^T`. That is the state space of
    Mamba-2 (Dao and Gu, "Transformers are SSMs", 2024, equation 2), whose C, B and x are query, key
    and value, with a step size `beta` and `decay = A beta`.

    `S` begins as zeros, or, of a chunk that follows others, as `state[b]` where `start[b]` is not 0;
    what is in `state[b]` does not matter otherwise. The first `count[b]` tokens are taken in, all
    of them without a count; the others have the result zero. `next` is `S` behind the last one.
    Of whole sequences, without a state, there is a gradient (`linear_attention_grad`).

    C1: query and key are `[b, t, g, dk]`, value and the result `[b, t, h, dv]`. C2: g divides h.
    C3: decay and beta are `[b, t, h]`. C4: state, start, count and next are given together or not at
    all; state and next are `[b, h, dk, dv]` of f32 or f64, start and count `[b]`.

    ```mlir
    %y, %next = sinter.linear_attention %q, %k, %v, %decay, %beta, %state, %start, %count
        {scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1>} : ...
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$query, Sinter_FloatTensor:$key, Sinter_FloatTensor:$value,
                       Sinter_FloatTensor:$decay, Sinter_FloatTensor:$beta,
                       Optional<StaticShapeTensorOf<[F32, F64]>>:$state,
                       Optional<Sinter_IndexTensor>:$start, Optional<Sinter_IndexTensor>:$count,
                       F64Attr:$scale, UnitAttr:$additive);
  let results = (outs Sinter_FloatTensor:$result,
                      Optional<StaticShapeTensorOf<[F32, F64]>>:$next);
  let hasVerifier = 1;
}

def LinearAttentionGradOp : Sinter_ReferenceOp<"linear_attention_grad", [Sinter_Shardable]> {
  let summary = "the gradients of a linear_attention of whole sequences";
  let description = [{
    With `S'` the state before a token and `S` that behind it, `a = exp(decay)`, `p = S'^T k`,
    `u = beta (v - a p)`, `o` the gradient of the token's result `y` and `G` that of `S`, from the
    last token, behind which `G` is zeros, to the first:

    ```
    G <- G + scale q o^T
    dv = beta G^T k             dbeta = (v - a p) . G^T k
    dq = scale S o              dk = G u - a S' dv
    G <- a (G - k dv^T)
    ddecay = the sum over this and all later tokens of y . o - v . dv
    ```
    No sum has both a state and a gradient of one, so that none is kept for later. The last line is
    `a (sum(G * S') - p . dv)`, as a factor to all decays up to a token is one to all that its
    query and its key read, and the inverse of one to what its key brings in. If `additive`, `p` is
    zeros, and neither `dk` nor `G` has a part with `dv`.

    Gradients of a key head are sums over the value heads that read it.

    C1: query and key are `[b, t, g, dk]`, value and gradient `[b, t, h, dv]`; the results have the
    shapes of query, key, value, decay and beta. C2: g divides h. C3: decay and beta are `[b, t, h]`.

    ```mlir
    %dq, %dk, %dv, %ddecay, %dbeta = sinter.linear_attention_grad %q, %k, %v, %decay, %beta,
        %gradient {scale = 0.125} : ...
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$query, Sinter_FloatTensor:$key,
                       Sinter_FloatTensor:$value, Sinter_FloatTensor:$decay,
                       Sinter_FloatTensor:$beta, Sinter_FloatTensor:$gradient, F64Attr:$scale,
                       UnitAttr:$additive);
  let results = (outs Sinter_FloatTensor:$query_gradient, Sinter_FloatTensor:$key_gradient,
                      Sinter_FloatTensor:$value_gradient, Sinter_FloatTensor:$decay_gradient,
                      Sinter_FloatTensor:$beta_gradient);
  let hasVerifier = 1;
}

def RotaryOp : Sinter_ReferenceOp<"rotary", [Sinter_PlacedShardable, Sinter_Differentiable,
    DeclareOpInterfaceMethods<CostOpInterface, ["getBytes"]>,
    AllTypesMatch<["operand", "result"]>]> {
  let summary = "rotates pairs of a head's elements by position-dependent angles";
  let description = [{
    Su et al., "RoFormer", 2021, equation 34. With `r = 2 * cos.shape[1]` rotated elements, pair
    `i` is `(x[i], x[i + r/2])`, or `(x[2i], x[2i + 1])` if interleaved; it becomes
    `(a cos - b sin, b cos + a sin)` with row `start[b] + t` of the tables (`t` without start).
    Elements from `r` on pass unchanged. Positions beyond the tables use their last row.

    C1: operand is `[b, t, h, d]`. C2: cos and sin are `[positions, r/2]` of the same type with
    `r <= d`. C3: start is `[b]`.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_FloatTensor:$cos, Sinter_FloatTensor:$sin,
                       Optional<Sinter_IndexTensor>:$start, UnitAttr:$interleaved);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

def CacheAppendOp : Sinter_ReferenceOp<"cache_append", [Sinter_Shardable,
    DeclareOpInterfaceMethods<InPlaceOpInterface, ["roundsIntoMemory"]>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getBytes"]>, AllTypesMatch<["cache", "result"]>]> {
  let summary = "writes a chunk's rows into a cache: result[b, start[b] + t] = rows[b, t]";
  let description = [{
    For `t < count[b]` and `start[b] + t` below max_sequence; all else keeps the cache's value.

    C1: cache is `[b, c, h, d]`, rows `[b, t, h, d]`. C2: start and count are `[b]`.
    C3: a cache of 8 bits gets rows of its element type. Others round rows to theirs.
  }];
  let arguments = (ins Sinter_CacheTensor:$cache, Sinter_CacheTensor:$rows,
                       Sinter_IndexTensor:$start, Sinter_IndexTensor:$count);
  let results = (outs Sinter_CacheTensor:$result);
  let hasVerifier = 1;
}

#endif // SINTER_ATTENTION_OPS
