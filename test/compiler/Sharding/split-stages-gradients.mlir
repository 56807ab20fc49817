// RUN: sinter-opt %s --sinter-split-stages=microbatches=4 | FileCheck %s
// RUN: sinter-opt %s --sinter-split-stages="microbatches=4 schedule=zero-bubble" | FileCheck %s --check-prefix=BUBBLE

// A gradient so far that is laid out anew before it is added to, by ops that no pass is named of. The
// forward pass, which goes ahead of the backward pass of the microbatch before, leaves it alone: what it
// read would be without that microbatch.

// CHECK-LABEL: func.func @accumulate.0.forward(
// CHECK-NOT: gradient.w.0
// CHECK-NOT: sinter.transpose
// CHECK-LABEL: func.func @accumulate.0.backward(
// CHECK-SAME: sinter.state = "gradient.w.0"
// CHECK: sinter.transpose
// CHECK: sinter.transpose

// What is put off reads it then, not before.
// BUBBLE-LABEL: func.func @accumulate.0.forward(
// BUBBLE-NOT: gradient.w.0
// BUBBLE-NOT: sinter.transpose
// BUBBLE-LABEL: func.func @accumulate.0.weights(
// BUBBLE-SAME: sinter.state = "gradient.w.0"
// BUBBLE: sinter.transpose
// BUBBLE: sinter.transpose
module attributes {sinter.grid = #sinter.grid<pipeline = 2>} {
  func.func @accumulate(%x: tensor<4x4xf32> {sinter.input = "tokens"},
                        %w0: tensor<4x4xf32> {sinter.state = "w.0", sinter.role = #sinter.role<parameter>},
                        %w1: tensor<4x4xf32> {sinter.state = "w.1", sinter.role = #sinter.role<parameter>},
                        %g0: tensor<4x4xf32> {sinter.state = "gradient.w.0", sinter.role = #sinter.role<gradient>})
      -> (tensor<4x4xf32> {sinter.output = "loss"}, tensor<4x4xf32> {sinter.state = "gradient.w.0"})
      attributes {sinter.entry} {
    %y = sinter.matmul %x, %w0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.0")
    %z = sinter.matmul %y, %w1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.1")
    %dy = sinter.matmul %z, %w1 {transpose_rhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.1"])
    %d0 = sinter.matmul %x, %dy {transpose_lhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.0"])
    %turned = sinter.transpose %g0 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("w.0")
    %sum = sinter.add %turned, %d0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["w.0"])
    %next = sinter.transpose %sum {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["w.0"])
    return %z, %next : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
