//===- ExpertOps.td - Mixtures of experts -------------------*- tablegen -*-===//
//
// Of a mixture each token goes through a few of many experts, which its router chooses (Shazeer et
// al., "Outrageously large neural networks: the sparsely-gated mixture-of-experts layer", 2017). A
// token and one of its experts are an assignment, number `t * k + j` for the j-th expert of token
// t. Sorted by expert, the rows of one expert are neighbours, so that a product reads the weights
// of each chosen expert once, and those of no other:
//
//   weights, ids = top_k(router's probabilities)          [t, k]
//   order, tokens, places, offsets = route(ids)
//   x = dispatch(hidden, tokens, places)                  [t * k, d]   rows in order of experts
//   y = grouped_matmul(x, experts' weights, offsets)      [t * k, n]
//   combine(y, places, tokens, order, weights)            [t, n]
//
// How many rows there are in all is known when compiling, how many an expert has is data. Nothing
// is scattered, forwards or backwards: the order is a permutation, and `places` its inverse. A row
// is computed alike beside any others, so that a token has the same bits in any batch.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_EXPERT_OPS
#define SINTER_EXPERT_OPS

include "dialects/Sinter/SinterAttributes.td"

def TopKOp : Sinter_ReferenceOp<"top_k", [Sinter_Shardable, Sinter_Differentiable]> {
  let summary = "the k largest elements of each row, the largest first, and where they are";
  let description = [{
    Of equal elements the one with the lower index comes first. NaN is below every number.
    C1: values is operand's shape with k, from 1 to the row's length, for its last dimension, of the
    same element type. C2: indices has values' shape.

    ```mlir
    %values, %indices = sinter.top_k %x : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$operand);
  let results = (outs Sinter_FloatTensor:$values, Sinter_IndexTensor:$indices);
  let hasVerifier = 1;
}

def RouteOp : Sinter_ReferenceOp<"route", [Sinter_Shardable]> {
  let summary = "assignments of tokens to experts in the order of the experts";
  let description = [{
    `order` has the numbers of all assignments `ids[t, j]`, sorted by expert, those of one expert in
    their own order; `tokens[m] = order[m] / k`; `places` is the inverse, `order[places[t, j]] = t * k + j`;
    the rows of expert e are those from `offsets[e]` to `offsets[e + 1]`. An id outside of the
    experts is that of the nearest one.

    C1: ids and places are `[t, k]`. C2: order and tokens are `[t * k]`. C3: offsets is `[e + 1]`, of at
    least one expert.

    ```mlir
    %order, %tokens, %places, %offsets = sinter.route %ids : (tensor<4x2xi32>)
      -> (tensor<8xi32>, tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>)
    ```
  }];
  let arguments = (ins Sinter_IndexTensor:$ids);
  let results = (outs Sinter_IndexTensor:$order, Sinter_IndexTensor:$tokens,
                      Sinter_IndexTensor:$places, Sinter_IndexTensor:$offsets);
  let hasVerifier = 1;
}

def DispatchOp : Sinter_ReferenceOp<"dispatch", [Sinter_Shardable, Sinter_Differentiable,
    DeclareOpInterfaceMethods<ComposedOpInterface>]> {
  let summary = "the rows of tokens in the order of experts: result[m, :] = operand[tokens[m], :]";
  let description = [{
    tokens and places are a route's; a token outside of operand is the nearest one. `places` says
    where a token's rows are, for the gradient: of a token it is the sum of those of its rows.

    C1: operand is `[t, d]`, places `[t, k]`, tokens `[t * k]` and the result `[t * k, d]` of operand's
    element type.

    ```mlir
    %x = sinter.dispatch %hidden, %tokens, %places
      : (tensor<4x64xf32>, tensor<8xi32>, tensor<4x2xi32>) -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_IndexTensor:$tokens,
                       Sinter_IndexTensor:$places);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

def CombineOp : Sinter_ReferenceOp<"combine", [Sinter_Shardable, Sinter_Differentiable,
    DeclareOpInterfaceMethods<ComposedOpInterface>]> {
  let summary = "the weighted sum of a token's rows: result[t] = sum over j of weights[t, j] * operand[places[t, j]]";
  let description = [{
    The sum runs from the first expert of a token to its last one. Without weights they are 1.
    places, tokens and order are a route's; a place outside of operand is the nearest one.

    C1: operand is `[t * k, d]`, places `[t, k]`, tokens and order `[t * k]`, the result `[t, d]` of
    operand's element type. C2: weights is `[t, k]` of the same element type.

    ```mlir
    %out = sinter.combine %y, %places, %tokens, %order, %weights
      : (tensor<8x64xf32>, tensor<4x2xi32>, tensor<8xi32>, tensor<8xi32>, tensor<4x2xf32>)
      -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_IndexTensor:$places,
                       Sinter_IndexTensor:$tokens, Sinter_IndexTensor:$order,
                       Optional<Sinter_FloatTensor>:$weights);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

def GroupedMatmulOp : Sinter_ReferenceOp<"grouped_matmul", [Sinter_Shardable, Sinter_Differentiable,
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<CostOpInterface, ["getBytes"]>]> {
  let summary = "each group of rows by a matrix of its own: result[i, :] = lhs[i, :] * rhs[g, :, :]";
  let description = [{
    Group g has the rows from `offsets[g]` to `offsets[g + 1]`; offsets are those of a route: they do
    not fall, begin with 0 and end with the number of rows. Whatever they are, nothing outside of
    the tensors is touched. Accumulated in f32 (f64 for f64), each element as one sum from front to
    back; the result is rounded once. With `transpose_rhs`, rhs is `[g, n, k]`.

    What it costs is the work on rows that there are: no group without rows costs anything.

    With scales rhs holds integers, or numbers of f8E4M3FN, of which each row of a matrix has a scale
    for several along k, and maybe a number that is added to them (minima), as a matmul's.

    C1: lhs is `[m, k]`, rhs `[g, k, n]` and the result `[m, n]`. C2: offsets is `[g + 1]`. C3: lhs and rhs
    have the same element type, unless there are scales. C4: rhs has integers or f8E4M3FN if and
    only if there are scales. C5: scales has rhs' shape but for k, which its extent divides. C6: minima has scales'
    shape.

    ```mlir
    %y = sinter.grouped_matmul %x, %w, %offsets {transpose_rhs}
      : (tensor<8x64xf32>, tensor<4x128x64xf32>, tensor<5xi32>) -> tensor<8x128xf32>
    %z = sinter.grouped_matmul %x, %q, %offsets scales %scales minima %minima {transpose_rhs}
      : (tensor<8x64xf32>, tensor<4x128x64xi4>, tensor<5xi32>, tensor<4x128x2xf32>,
         tensor<4x128x2xf32>) -> tensor<8x128xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$lhs, StaticShapeTensorOf<[Sinter_Float, I8, Sinter_I4, F8E4M3FN]>:$rhs,
                       Sinter_IndexTensor:$offsets, Optional<Sinter_FloatTensor>:$scales,
                       Optional<Sinter_FloatTensor>:$minima, UnitAttr:$transpose_rhs);
  let results = (outs Sinter_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $offsets (`scales` $scales^)? (`minima` $minima^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Matrices that there are to multiply by.
    int64_t getGroups() { return getRhs().getType().getDimSize(0); }
    /// Rows and columns of the result, and the contracted extent.
    int64_t getM() { return getType().getDimSize(0); }
    int64_t getN() { return getType().getDimSize(1); }
    int64_t getK() { return getLhs().getType().getDimSize(1); }
    /// Elements along k that share a scale. @pre there are scales
    int64_t getGroup();
  }];
}

def GroupedOuterOp : Sinter_ReferenceOp<"grouped_outer", [Sinter_Shardable]> {
  let summary = "the product of each group's rows: result[g] = lhs[rows of g]^T * rhs[rows of g]";
  let description = [{
    The gradient of a grouped_matmul's weights. offsets are as there; a group without rows has
    zeros. Summed in f32 (f64 for f64), row after row.

    C1: lhs is `[m, a]`, rhs `[m, b]` and the result `[g, a, b]`. C2: offsets is `[g + 1]`. C3: lhs and rhs
    have the same element type.

    ```mlir
    %dw = sinter.grouped_outer %dy, %x, %offsets
      : (tensor<8x128xf32>, tensor<8x64xf32>, tensor<5xi32>) -> tensor<4x128x64xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$lhs, Sinter_FloatTensor:$rhs,
                       Sinter_IndexTensor:$offsets);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

#endif // SINTER_EXPERT_OPS
