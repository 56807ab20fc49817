//===- CollectiveOps.td - Moving values between ranks -------*- tablegen -*-===//
#ifndef SINTER_COLLECTIVE_OPS
#define SINTER_COLLECTIVE_OPS

include "dialects/Sinter/GridAttr.td"
include "dialects/Sinter/SinterAttributes.td"

def ShardOp : Sinter_ReferenceOp<"shard", [Sinter_Shardable, Sinter_Differentiable,
    AllTypesMatch<["operand", "result"]>]> {
  let summary = "the operand, split over ranks as `sharding` says";
  let description = [{
    What a person asks for, or a recipe: the pass that splits a program obeys, and what is computed
    from the result goes on with these parts. The value is the operand's; without a grid nothing is
    split. The gradient of the operand is split alike.
    C1: the sharding has a list for each dimension and nothing unreduced. C2: in a module for a grid
    its axes are of the grid.

    ```mlir
    %1 = sinter.shard %0 {sharding = #sinter.sharding<[[], ["context"], []]>} : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
    ```
  }];
  let arguments = (ins Sinter_Tensor:$operand, Sinter_ShardingAttr:$sharding);
  let results = (outs Sinter_Tensor:$result);
  let hasVerifier = 1;
}

/// Every rank runs the same program, and so the same collectives in the same order. A collective is
/// between the ranks of each group along `axes` (GridAttr). Parts stand in a new first dimension, so
/// that they are contiguous in memory, in the order of the group's ranks; what is to be split along
/// another dimension is transposed first.
class Sinter_CollectiveOp<string mnemonic> : Op<SinterDialect, mnemonic, [Pure,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<FusibleOpInterface>,
    DeclareOpInterfaceMethods<CollectiveOpInterface>]> {
  let arguments = (ins Sinter_Tensor:$operand, StrArrayAttr:$axes);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$axes $operand attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    int64_t $cppClass::getFlops() { return 0; }
    ::sinter::FusionRole $cppClass::getFusionRole() { return ::sinter::FusionRole::Opaque; }
  }];
}

def AllGatherOp : Sinter_CollectiveOp<"all_gather"> {
  let summary = "every rank gets the operands of all";
  let description = [{
    `result[i] = operand of rank i`.
    C1: axes are of the grid, at least one, none twice. C2: the result has the operand's shape behind
    a dimension of as many parts as the group has ranks, and its element type.

    ```mlir
    %1 = sinter.all_gather ["data"] %0 : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
    ```
  }];
}

def AllToAllOp : Sinter_CollectiveOp<"all_to_all"> {
  let summary = "every rank gets its part of the operands of all";
  let description = [{
    `result[i] on rank r = operand[r] of rank i`. Followed by a sum over the first dimension it is
    what libraries call reduce-scatter, in an order that the program says.
    C1: as of all_gather. C2: the first dimension is the number of ranks of the group, and the result
    has the operand's type.

    ```mlir
    %1 = sinter.all_to_all ["data"] %0 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    ```
  }];
}

def AllSliceOp : Sinter_CollectiveOp<"all_slice"> {
  let summary = "every rank keeps its own part";
  let description = [{
    `result on rank r = operand[r]`. Nothing is sent.
    C1: as of all_gather. C2: the operand has the result's shape behind a dimension of as many parts
    as the group has ranks, and its element type.

    ```mlir
    %1 = sinter.all_slice ["data"] %0 : (tensor<2x4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def AllReduceOp : Sinter_CollectiveOp<"all_reduce"> {
  let summary = "every rank gets the sum of the operands of all";
  let description = [{
    The library that carries it out adds, in an order of its own: last bits depend on it and on the
    number of ranks. Programs whose bits do not gather or exchange parts, and add them themselves.
    C1: as of all_gather. C2: the result has the operand's type, of f32 or f64.

    ```mlir
    %1 = sinter.all_reduce ["data"] %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

#endif // SINTER_COLLECTIVE_OPS
