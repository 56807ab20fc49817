// RUN: sinter-opt %s --sinter-split-stages=microbatches=4 | FileCheck %s

// What is made of one value on the way back is made where it is used, wherever in the model it is said to be.

// The value that goes back is sent as it is, and made larger where that is used.
// CHECK-LABEL: func.func @accumulate.0.backward(
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<4x4xf32> {sinter.receive = array<i64: 1, 1>}
// CHECK: %[[LARGER:.*]] = sinter.concat %[[DY]], %[[DY]]
// CHECK: sinter.matmul %[[LARGER]]

// A gradient stays with its state, though steps on its way are said to be of the first layer.
// CHECK-LABEL: func.func @accumulate.1.forward(
// CHECK: %[[TURNED:.*]] = sinter.transpose
// CHECK: %[[TWICE:.*]] = sinter.transpose %[[TURNED]]
// CHECK-NOT: sinter.concat
// CHECK: sinter.add %{{.*}}, %[[TWICE]]
module attributes {sinter.grid = #sinter.grid<pipeline = 2>} {
  func.func @accumulate(%x: tensor<4x4xf32> {sinter.input = "tokens"},
                        %w0: tensor<4x4xf32> {sinter.state = "w.0", sinter.role = #sinter.role<parameter>},
                        %w1: tensor<4x4xf32> {sinter.state = "w.1", sinter.role = #sinter.role<parameter>},
                        %g0: tensor<4x4xf32> {sinter.state = "gradient.w.0", sinter.role = #sinter.role<gradient>},
                        %g1: tensor<4x4xf32> {sinter.state = "gradient.w.1", sinter.role = #sinter.role<gradient>})
      -> (tensor<4x4xf32> {sinter.output = "loss"}, tensor<4x4xf32> {sinter.state = "gradient.w.0"},
          tensor<4x4xf32> {sinter.state = "gradient.w.1"}) attributes {sinter.entry} {
    %y = sinter.matmul %x, %w0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.0")
    %z = sinter.matmul %y, %w1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.1")
    %d1 = sinter.matmul %y, %z {transpose_lhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.1"])
    %turned = sinter.transpose %d1 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.0"])
    %twice = sinter.transpose %turned {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.0"])
    %dy = sinter.matmul %z, %w1 {transpose_rhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.1"])
    %larger = sinter.concat %dy, %dy {dim = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc(fused<"backward">["layer.1"])
    %rows = sinter.matmul %larger, %w0 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc(fused<"backward">["layer.0"])
    %d0 = sinter.slice %rows {offsets = array<i64: 4, 0>} : (tensor<8x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["layer.0"])
    %next0 = sinter.add %g0, %d0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["w.0"])
    %next1 = sinter.add %g1, %twice : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"backward">["w.1"])
    return %z, %next0, %next1 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}
