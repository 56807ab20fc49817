//===- Passes.td - From a loss to a training step -----------*- tablegen -*-===//
#ifndef SINTER_AUTODIFF_PASSES
#define SINTER_AUTODIFF_PASSES

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"sinter-differentiate", "mlir::ModuleOp"> {
  let summary = "gives a loss function its backward pass";
  let description = [{
    After it, a function with the attribute `sinter.differentiate` has, behind its other results,
    the gradient of its output `loss` by each `sinter.parameter` argument, as a result
    `sinter.gradient` of the parameter's name and type; the attribute is gone. Gradients are those
    of the loss times the input `loss_scale`, where the function has one. Each op states its own
    adjoint (DifferentiableOpInterface); ops that no parameter reaches get none.

    ```mlir
    func.func @train_step(%x: tensor<4xf32> {sinter.input = "x"},
                          %w: tensor<4xf32> {sinter.parameter = "w"})
        -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
      %0 = sinter.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %1 = sinter.reduce sum %0 : (tensor<4xf32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
    // =>
    func.func @train_step(...) -> (tensor<f32> {sinter.output = "loss"},
                                   tensor<4xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
      %0 = sinter.mul %x, %w : ...
      %1 = sinter.reduce sum %0 : ...
      %2 = sinter.constant dense<1.0> : tensor<f32>
      %3 = sinter.broadcast %2 {dims = array<i64>} : (tensor<f32>) -> tensor<4xf32>
      %4 = sinter.mul %3, %x : ...
      return %1, %4 : tensor<f32>, tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["sinter::SinterDialect"];
}

def ExpandLossesPass : Pass<"sinter-expand-losses", "mlir::ModuleOp"> {
  let summary = "writes losses out, a block of rows at a time";
  let description = [{
    After it there is no `sinter.linear_cross_entropy`: those that were not differentiated (their
    adjoint writes them out) are products and row reductions over blocks of rows.

    ```mlir
    %0 = sinter.linear_cross_entropy %h, %w, %t {chunk = 2, ...}
       : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<4xf32>
    // =>
    %1 = sinter.slice %h {offsets = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %2 = sinter.matmul %1, %w : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
    ...
    ```
  }];
  let dependentDialects = ["sinter::SinterDialect"];
}

def VerifyAutodiffPass : Pass<"sinter-verify-autodiff", "mlir::ModuleOp"> {
  let summary = "the gate of the Autodiff phase";
  let description = [{
    After it no function waits to be differentiated, no result is a gradient that nothing has used,
    and every loss is written out.
  }];
}

#endif // SINTER_AUTODIFF_PASSES
