//===- IndexOps.td - Moving elements without arithmetic -----*- tablegen -*-===//
#ifndef SINTER_INDEX_OPS
#define SINTER_INDEX_OPS

include "dialects/Sinter/SinterAttributes.td"

/// Fused, these are address arithmetic.
class Sinter_IndexOp<string mnemonic, list<Trait> traits = []> : Sinter_ReferenceOp<mnemonic,
    !listconcat(traits, [Sinter_Shardable])> {
  let results = (outs Sinter_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDefinition = [{
    int64_t $cppClass::getFlops() { return 0; }
    ::sinter::FusionRole $cppClass::getFusionRole() { return ::sinter::FusionRole::Index; }
  }];
}

def ConstantOp : Sinter_IndexOp<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a tensor known when compiling";
  let arguments = (ins ElementsAttr:$value);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 0;
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$type, "double":$splat)>];
}

def BroadcastOp : Sinter_IndexOp<"broadcast", [Sinter_Differentiable, Sinter_Move]> {
  let summary = "repeats the operand along new dimensions";
  let description = [{
    `result[i] = operand[i[dims[0]], i[dims[1]], ...]`: operand dimension `j` becomes result
    dimension `dims[j]`; all others are new.

    C1: dims has one entry an operand dimension, increasing, each below the result's rank.
    C2: `operand.shape[j] == result.shape[dims[j]]`.
    C3: element types agree.
  }];
  let arguments = (ins Sinter_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let extraClassDeclaration = [{
    /// Whether the operand is one row, `[n]`, that all rows of the result repeat, as a bias is.
    bool repeatsRow();
  }];
}

def ReshapeOp : Sinter_IndexOp<"reshape", [Sinter_Differentiable,
    DeclareOpInterfaceMethods<MoveOpInterface, ["keepsOrder"]>]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{ C1: as many elements of the same type on both sides. }];
  let arguments = (ins Sinter_Tensor:$operand);
  let hasFolder = 1;
}

def TransposeOp : Sinter_IndexOp<"transpose", [Sinter_Differentiable, Sinter_Move]> {
  let summary = "permutes dimensions";
  let description = [{
    `result.shape[i] = operand.shape[permutation[i]]`.
    C1: permutation is one of the operand's dimensions. C2: the result's type follows from it.
  }];
  let arguments = (ins Sinter_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let hasFolder = 1;
}

def SliceOp : Sinter_IndexOp<"slice", [Sinter_Differentiable, Sinter_Move,
    DeclareOpInterfaceMethods<CostOpInterface, ["getBytes"]>]> {
  let summary = "the box of the result's shape at `offsets`";
  let description = [{
    C1: one offset a dimension; ranks and element types agree.
    C2: the box lies inside the operand.
  }];
  let arguments = (ins Sinter_Tensor:$operand, DenseI64ArrayAttr:$offsets);
  let hasFolder = 1;
}

def ConcatOp : Sinter_IndexOp<"concat", [Sinter_Differentiable]> {
  let summary = "operands one after another along `dim`";
  let description = [{
    C1: at least one operand; dim is a dimension of it.
    C2: shapes agree but for dim, whose extents add up to the result's; element types agree.
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$operands, I64Attr:$dim);
}

def CopyOp : Sinter_ReferenceOp<"copy", [Sinter_Shardable, SameOperandsAndResultType]> {
  let summary = "the operand in memory of its own";
  let description = [{
    For planning only: a value that an update would otherwise overwrite while it is still needed.
  }];
  let arguments = (ins Sinter_Tensor:$operand);
  let results = (outs Sinter_Tensor:$result);
}

def PackOp : Sinter_ReferenceOp<"pack", [Sinter_Move]> {
  let summary = "the same tensor in another storage layout";
  let description = [{
    The result's encoding says how. Values are unchanged.
    C1: shapes and element types agree, or the operand `[k, g * n]` is the matrices of the result
    `[g, k, n]` side by side. C2: the operand is dense, the result has a layout.
  }];
  let arguments = (ins Sinter_Tensor:$operand);
  let results = (outs Sinter_Tensor:$result);
  let hasVerifier = 1;
}

def PositionsOp : Sinter_ReferenceOp<"positions", [Sinter_PlacedShardable]> {
  let summary = "the position of every token of a chunk: start[b] + t";
  let description = [{ C1: the result is `[b, t]` of i32 with start's b. }];
  let arguments = (ins Sinter_IndexTensor:$start);
  let results = (outs Sinter_IndexTensor:$result);
  let hasVerifier = 1;
}

def OneHotOp : Sinter_IndexOp<"one_hot"> {
  let summary = "result[..., j] = 1 where j is ids[...], else 0";
  let description = [{
    A row whose id is outside `[0, classes)` is all zeros.
    C1: the result is ids' shape with the number of classes appended, of a floating-point type.
  }];
  let arguments = (ins Sinter_IndexTensor:$ids);
}

def PickOp : Sinter_ReferenceOp<"pick", [Sinter_Shardable,
    DeclareOpInterfaceMethods<CostOpInterface, ["getBytes"]>]> {
  let summary = "one element of each row: result[...] = operand[..., ids[...]]";
  let description = [{
    0 where an id is outside of the row: the adjoint of a row's pick is a `one_hot`.
    C1: ids and the result have operand's shape without its last dimension; element types agree.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_IndexTensor:$ids);
  let results = (outs Sinter_FloatTensor:$result);
  let hasVerifier = 1;
}

def EmbeddingOp : Sinter_ReferenceOp<"embedding", [Sinter_PlacedShardable, Sinter_Differentiable,
    DeclareOpInterfaceMethods<LookupOpInterface, ["buildTransposed"]>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getBytes"]>]> {
  let summary = "rows of a table: result[..., :] = table[ids[...], :]";
  let description = [{
    Ids outside the table read its nearest row: a hostile id cannot read outside memory. Callers
    check ids before a step. The row `padding`, where there is one, is not trained: its gradient is
    zero. With `transpose_table`, table is `[width, rows]`, as the right-hand side of the product
    that a tied table is also is.

    With `start` the table holds the rows of a larger one from `start[0]` on. An id that it does not
    hold reads -0.0, of a table of integers 0, which added to any number leaves it as it is: the sum
    over the parts of a table is, to the bit, what the whole table gives.
    C1: table is `[rows, width]`; the result is ids' shape with width appended, of table's type.
    C2: start is `[1]`.
  }];
  let arguments = (ins Sinter_Tensor:$table, Sinter_IndexTensor:$ids,
                       Optional<Sinter_IndexTensor>:$start, OptionalAttr<I64Attr>:$padding,
                       UnitAttr:$transpose_table);
  let results = (outs Sinter_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Rows that there are to choose from.
    int64_t getRows();
    /// Elements of a row.
    int64_t getWidth() { return getType().getShape().back(); }
  }];
}

def LastRowOp : Sinter_ReferenceOp<"last_row", [Sinter_Shardable,
    DeclareOpInterfaceMethods<CostOpInterface, ["getBytes"]>]> {
  let summary = "the last valid row of each slot: result[b, :] = operand[b, max(count[b], 1) - 1, :]";
  let description = [{
    C1: operand is `[b, t, d]`, count `[b]`, the result `[b, d]` of operand's element type.
  }];
  let arguments = (ins Sinter_Tensor:$operand, Sinter_IndexTensor:$count);
  let results = (outs Sinter_Tensor:$result);
  let hasVerifier = 1;
}

#endif // SINTER_INDEX_OPS
