//===- Passes.td - From a graph to the program of one rank --*- tablegen -*-===//
#ifndef SINTER_SHARDING_PASSES
#define SINTER_SHARDING_PASSES

include "mlir/Pass/PassBase.td"

def SeedShardingsPass : Pass<"sinter-seed-shardings", "mlir::ModuleOp"> {
  let summary = "says which arguments and results of entries are split over the grid";
  let description = [{
    After it arguments and results that are to be split have a `sinter.sharding`, unless a person gave
    them one.

    Along `data`: an entry that reads tokens computes on its own microbatches (`sinter.manual`); its
    gradients are terms of a sum over ranks, which an entry that has nothing else only adds. With
    `zero=1` what an optimizer keeps is split by rows, with `zero=2` also the gradients, which are
    summed over ranks as soon as they are there, with `zero=3` the parameters, too, of which a rank
    gathers what it needs.

    Along `tensor`: a matrix that only products read is split by the columns of their results, and a
    KV cache by heads, where they divide. Training cannot be split along it yet.

    ```mlir
    module attributes {sinter.grid = #sinter.grid<data = 2>} {
      func.func @update(%g: tensor<4x8xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>})
          -> (tensor<4x8xf32> {sinter.output = "g"}) attributes {sinter.entry} {
        return %g : tensor<4x8xf32>
      }
    }
    // =>
    module attributes {sinter.grid = #sinter.grid<data = 2>} {
      func.func @update(%g: tensor<4x8xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>,
                                             sinter.sharding = #sinter.sharding<[[], []] unreduced ["data"]>})
          -> (tensor<4x8xf32> {sinter.output = "g"}) attributes {sinter.entry} {
        return %g : tensor<4x8xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"zero", "zero", "int64_t", /*default=*/"0",
           "what is split along the axis data: 1 the optimizer's states, 2 gradients, 3 parameters">,
  ];
}

def PartitionPass : Pass<"sinter-partition", "mlir::ModuleOp"> {
  let summary = "makes the program of one rank";
  let description = [{
    After it an argument or a result with a `sinter.sharding` has the type of a rank's part, and
    `sinter.whole` is that of all of it. Every op computes on parts where its loops allow (LoopNest.h):
    an independent loop is split along the axes that an operand is split along; a loop that reduces, or
    that is needed whole, is not, so that every number is computed by one rank in the order of one
    device. Between them collectives move parts: a split operand is gathered where it is needed
    whole, a whole one is sliced where others are split, and terms of a sum are exchanged and added
    in the order of the tree (Passes.h).

    Along a manual axis (`sinter.manual`) every rank computes on data of its own. What it returns for a
    result that is not `unreduced` there is a term of the sum over ranks; where that is added to a state,
    the sum is made first, and added to the state's part. A part of an argument is gathered for the
    forward and again for the backward pass.

    A tensor that does not divide evenly is padded with zeros before it is split.

    ```mlir
    module attributes {sinter.grid = #sinter.grid<data = 2>} {
      func.func @update(%w: tensor<4x8xf32> {sinter.state = "w", sinter.sharding = #sinter.sharding<[["data"], []]>})
          -> (tensor<4x8xf32> {sinter.output = "w"}) attributes {sinter.entry} {
        return %w : tensor<4x8xf32>
      }
    }
    // =>
    module attributes {sinter.grid = #sinter.grid<data = 2>} {
      func.func @update(%w: tensor<2x8xf32> {sinter.state = "w", sinter.whole = tensor<4x8xf32>,
                                             sinter.sharding = #sinter.sharding<[["data"], []]>})
          -> (tensor<4x8xf32> {sinter.output = "w"}) attributes {sinter.entry} {
        %0 = sinter.all_gather ["data"] %w : (tensor<2x8xf32>) -> tensor<2x2x8xf32>
        %1 = sinter.reshape %0 : (tensor<2x2x8xf32>) -> tensor<4x8xf32>
        return %1 : tensor<4x8xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"library", "library", "bool", /*default=*/"false",
           "sums over ranks are the library's, in an order of its own">,
  ];
  let dependentDialects = ["sinter::SinterDialect"];
}

def VerifyShardingPass : Pass<"sinter-verify-sharding", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Sharding phase";
  let description = [{
    After it, of a module for a grid, every argument and result of an entry with a `sinter.sharding` has
    the type of a rank's part, which follows from `sinter.whole`.

    ```mlir
    module attributes {sinter.grid = #sinter.grid<data = 2>} {
      func.func @f(%w: tensor<4xf32> {sinter.state = "w", sinter.sharding = #sinter.sharding<[["data"]]>})
          attributes {sinter.entry} {
        return
      }
    }
    // =>
    error: expected argument 0 to be a rank's part of 'sinter.whole' after Sharding, got 'tensor<4xf32>'
    ```
  }];
}

#endif // SINTER_SHARDING_PASSES
