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
    func.func @train_step(%x: tensor<4xf32> {sinter.input = "x"}, %w: tensor<4xf32> {sinter.parameter = "w"})
        -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
      %0 = sinter.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %1 = sinter.reduce sum %0 : (tensor<4xf32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
    // =>
    func.func @train_step(%x: tensor<4xf32> {sinter.input = "x"}, %w: tensor<4xf32> {sinter.parameter = "w"})
        -> (tensor<f32> {sinter.output = "loss"}, tensor<4xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
      %0 = sinter.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %1 = sinter.reduce sum %0 : (tensor<4xf32>) -> tensor<f32>
      %2 = sinter.constant dense<1.0> : tensor<f32>
      %3 = sinter.broadcast %2 {dims = array<i64>} : (tensor<f32>) -> tensor<4xf32>
      %4 = sinter.mul %3, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %1, %4 : tensor<f32>, tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["sinter::SinterDialect"];
}

def ApplyOptimizerPass : Pass<"sinter-apply-optimizer", "mlir::ModuleOp"> {
  let summary = "makes gradients into updates of parameters";
  let description = [{
    After it no result is a `sinter.gradient`. The parameters of every entry are states of the same
    names: the function that had gradients updates them in place, others (`@evaluate`) read them.
    What the optimizer keeps are states too, `adamw.m.<parameter>` for example, of `state-dtype`. New
    inputs are those that the optimizer needs: `learning_rate`; `adamw_learning_rate` (muon: that of
    what adamw updates: vectors, and matrices whose rows or columns stand for tokens or positions,
    because ids choose rows of them, they are repeated for every sequence or a loss picks from their
    product); `bias_correction1` and `bias_correction2` (adamw, muon: 1 - beta^t); `seed` (where
    second moments are of bf16: what they are rounded with, beside a tag, a hash of the parameter's
    name); `update` (adafactor: t, from 1). A new output `grad_norm` is the norm of all gradients
    together, before they are clipped. If it is not finite, parameters and optimizer states stay as
    they are.

    With `accumulate` above 1 there are two functions instead: `@accumulate` adds the gradients to
    the states `gradient.<parameter>`, and `@update` does the rest and leaves those zero. Where the
    tree of `leaves` (runtime/Train/GradientTree.h) has more than one buffer, `@accumulate` adds to
    `gradient0.<parameter>`, and `@carry.1` adds that to the next, `gradient1.<parameter>`, or
    `gradient.<parameter>`, which is the last one, and leaves it zero. Of a module for a grid with an
    axis `data`, each rank has its own part of the tree. On a GPU, which moves bytes beside its kernels,
    its last microbatch has an entry of its own then, `@accumulate_last`: it does the carries that are
    left, and what it leaves for `@update` is the sum over ranks, in `gradient.<parameter>`, or with
    `zero=1`, of which a rank has a part, in `gradient_sum.<parameter>`. Gradients
    of a function with an input `loss_scale` are those of the loss times it, and are divided by it.
    A module without gradients is left alone. The pass's options are those of OptimizerOptions.def,
    by their names on the command line: `grad-clip`; and `zero`.

    ```mlir
    // sinter-opt --sinter-apply-optimizer="optimizer=sgd momentum=0"
    func.func @train_step(%x: tensor<4xf32> {sinter.input = "x"}, %w: tensor<4xf32> {sinter.parameter = "w"})
        -> (tensor<f32> {sinter.output = "loss"}, tensor<4xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
      %0 = sinter.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %1 = sinter.reduce sum %0 : (tensor<4xf32>) -> tensor<f32>
      return %1, %x : tensor<f32>, tensor<4xf32>
    }
    // =>
    func.func @train_step(%x: tensor<4xf32> {sinter.input = "x"},
                          %w: tensor<4xf32> {sinter.donated = 2 : i64, sinter.role = #sinter.role<parameter>,
                                             sinter.state = "w"},
                          %rate: tensor<f32> {sinter.input = "learning_rate"})
        -> (tensor<f32> {sinter.output = "loss"}, tensor<f32> {sinter.output = "grad_norm"},
            tensor<4xf32> {sinter.state = "w"}) attributes {sinter.entry} {
      ...
      %square = sinter.square_sum %x : (tensor<4xf32>) -> tensor<f32>
      %norm = sinter.sqrt %square : (tensor<f32>) -> tensor<f32>
      ...
      %scale = sinter.where_finite %norm, %clip, %norm : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %next = sinter.sgd %w, %x, %scale, %rate ...
      return %loss, %norm, %next : tensor<f32>, tensor<f32>, tensor<4xf32>
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
    func.func @evaluate(%h: tensor<4x8xf32>, %w: tensor<16x8xf32>, %t: tensor<4xi32>) -> tensor<4xf32> {
      %0 = sinter.linear_cross_entropy %h, %w, %t {chunk = 2 : i64, transpose_weight}
        : (tensor<4x8xf32>, tensor<16x8xf32>, tensor<4xi32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // =>
    func.func @evaluate(%h: tensor<4x8xf32>, %w: tensor<16x8xf32>, %t: tensor<4xi32>) -> tensor<4xf32> {
      %0 = sinter.slice %h {offsets = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
      %1 = sinter.slice %t {offsets = array<i64: 0>} : (tensor<4xi32>) -> tensor<2xi32>
      %2 = sinter.matmul %0, %w {transpose_rhs} : (tensor<2x8xf32>, tensor<16x8xf32>) -> tensor<2x16xf32>
      %3 = sinter.cross_entropy %2, %1 : (tensor<2x16xf32>, tensor<2xi32>) -> tensor<2xf32>
      %4 = sinter.slice %h {offsets = array<i64: 2, 0>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
      %5 = sinter.slice %t {offsets = array<i64: 2>} : (tensor<4xi32>) -> tensor<2xi32>
      %6 = sinter.matmul %4, %w {transpose_rhs} : (tensor<2x8xf32>, tensor<16x8xf32>) -> tensor<2x16xf32>
      %7 = sinter.cross_entropy %6, %5 : (tensor<2x16xf32>, tensor<2xi32>) -> tensor<2xf32>
      %8 = sinter.concat %3, %7 {dim = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
      return %8 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["sinter::SinterDialect"];
}

def RematerializePass : Pass<"sinter-rematerialize", "mlir::ModuleOp"> {
  let summary = "computes again what would have to be kept";
  let description = [{
    After it, the backward pass reads `release` bytes less of what the forward pass computed, or as
    little as can be: ops that cost least a released byte are done again, at their first use there
    (`sinter.recompute`, so that they are not taken for equal to the first ones). More are done again
    for as long as all of them together cost no more than `free-share` of the step, by the cost
    model. The granularity is an `op`, all inner ops of a `block` (attention, MLP) or of a `layer`;
    what is free is done again op by op.
    A remark says how many ops, bytes and milliseconds.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v3 --sinter-rematerialize=release=1
    func.func @train_step(%x: tensor<64x64xf32> {sinter.input = "x"}, %w: tensor<64x256xf32> {sinter.state = "w"},
                          %v: tensor<256x64xf32> {sinter.state = "v"})
        -> (tensor<256x64xf32> {sinter.output = "dv"}, tensor<64x256xf32> {sinter.output = "dp"})
        attributes {sinter.entry} {
      %p = sinter.matmul %x, %w : (tensor<64x64xf32>, tensor<64x256xf32>) -> tensor<64x256xf32> loc("layers.0.mlp.up")
      %g = sinter.gelu %p : (tensor<64x256xf32>) -> tensor<64x256xf32> loc("layers.0.mlp.up")
      %y = sinter.matmul %g, %v : (tensor<64x256xf32>, tensor<256x64xf32>) -> tensor<64x64xf32> loc("layers.0.mlp.down")
      %dv = sinter.matmul %g, %y {transpose_lhs}
        : (tensor<64x256xf32>, tensor<64x64xf32>) -> tensor<256x64xf32> loc(fused<"backward">["layers.0.mlp.down"])
      %dp = sinter.gelu_derivative %p
        : (tensor<64x256xf32>) -> tensor<64x256xf32> loc(fused<"backward">["layers.0.mlp.up"])
      return %dv, %dp : tensor<256x64xf32>, tensor<64x256xf32>
    }
    // =>
    %p = sinter.matmul %x, %w : (tensor<64x64xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
    %g = sinter.gelu %p : (tensor<64x256xf32>) -> tensor<64x256xf32>
    %y = sinter.matmul %g, %v : (tensor<64x256xf32>, tensor<256x64xf32>) -> tensor<64x64xf32>
    %again = sinter.gelu %p {sinter.recompute} : (tensor<64x256xf32>) -> tensor<64x256xf32>
    %dv = sinter.matmul %again, %y {transpose_lhs} : (tensor<64x256xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
    ...
    ```
  }];
  let options = [
    Option<"release", "release", "int64_t", "0", "Bytes to release">,
    Option<"freeShare", "free-share", "double", "0", "Part of the step's time that counts as free">,
    Option<"granularity", "granularity", "std::string", "\"op\"", "op, block or layer">];
  let dependentDialects = ["sinter::SinterDialect"];
}

def VerifyAutodiffPass : Pass<"sinter-verify-autodiff", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Autodiff phase";
  let description = [{
    After it no function waits to be differentiated, no result is a gradient that nothing has used,
    and every loss is written out.

    ```mlir
    func.func @train_step(%w: tensor<f32> {sinter.parameter = "w"}) -> (tensor<f32> {sinter.gradient = "w"})
        attributes {sinter.entry} {
      return %w : tensor<f32>
    }
    // =>
    error: expected every gradient to be used after Autodiff, got "w"
    ```
  }];
}

#endif // SINTER_AUTODIFF_PASSES
