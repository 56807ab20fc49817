//===- Passes.td - What restructures the whole graph --------*- tablegen -*-===//
#ifndef SINTER_GLOBAL_PASSES
#define SINTER_GLOBAL_PASSES

include "mlir/Pass/PassBase.td"

def MergeMatmulsPass : Pass<"sinter-merge-matmuls", "mlir::ModuleOp"> {
  let summary = "computes products that share their left-hand side as one";
  let description = [{
    After it, matmuls of an entry with the same left-hand side, weights that are parameters and
    lie alike (transposed or not), and results that are used alike (rearranged and rounded; or computed on, with equal
    widths) are one matmul with the weights side by side, and its result is sliced: Q, K and V, or gate and
    up. Biases are merged with them; where only some have one, the others get zeros.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-merge-matmuls
    func.func @decode(%x: tensor<4x8xf32> {sinter.input = "x"}, %wq: tensor<8x16xf32> {sinter.parameter = "wq"},
                      %wk: tensor<8x4xf32> {sinter.parameter = "wk"}) -> (tensor<4x16xf32>, tensor<4x4xf32>)
        attributes {sinter.entry} {
      %0 = sinter.matmul %x, %wq : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      %1 = sinter.matmul %x, %wk : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      return %0, %1 : tensor<4x16xf32>, tensor<4x4xf32>
    }
    // =>
    func.func @decode(%x: tensor<4x8xf32> {sinter.input = "x"}, %wq: tensor<8x16xf32> {sinter.parameter = "wq"},
                      %wk: tensor<8x4xf32> {sinter.parameter = "wk"}) -> (tensor<4x16xf32>, tensor<4x4xf32>)
        attributes {sinter.entry} {
      %0 = sinter.concat %wq, %wk {dim = 1 : i64} : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<8x20xf32>
      %1 = sinter.matmul %x, %0 : (tensor<4x8xf32>, tensor<8x20xf32>) -> tensor<4x20xf32>
      %2 = sinter.slice %1 {offsets = array<i64: 0, 0>} : (tensor<4x20xf32>) -> tensor<4x16xf32>
      %3 = sinter.slice %1 {offsets = array<i64: 0, 16>} : (tensor<4x20xf32>) -> tensor<4x4xf32>
      return %2, %3 : tensor<4x16xf32>, tensor<4x4xf32>
    }
    ```
  }];
}

def VerifyGlobalPass : Pass<"sinter-verify-global", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Global phase";
  let description = [{
    After it, as before it, every value of an entry is dense: how values lie in memory is for the
    Layout phase to decide, of the products that there are by then.

    ```mlir
    #panels = #sinter.panels<width = 32, interleave = 1, depth = 16>
    func.func @decode(%w: tensor<8x16xf32>) -> tensor<8x16xf32, #panels> attributes {sinter.entry} {
      %0 = sinter.pack %w : (tensor<8x16xf32>) -> tensor<8x16xf32, #panels>
      return %0 : tensor<8x16xf32, #panels>
    }
    // =>
    error: expected only dense tensors in an entry after Global
    ```
  }];
}

#endif // SINTER_GLOBAL_PASSES
