// RUN: sinter-opt %s --sinter-split-stages=microbatches=4 | FileCheck %s

// What is made of several parameters, as a stack of experts, is made in each stage that uses it: the
// second one has copies of all of them, which the first one sends.

// CHECK-LABEL: func.func @evaluate.0.forward(
// CHECK: sinter.concat
// CHECK-LABEL: func.func @evaluate.1.forward(
// CHECK-SAME: sinter.state = "copy1.a"
// CHECK-SAME: sinter.state = "copy1.b"
// CHECK: sinter.concat
// CHECK-LABEL: func.func @share.0.forward(
// CHECK-SAME: sinter.send
// CHECK-SAME: sinter.send
// CHECK-LABEL: func.func @share.1.forward(
// CHECK-SAME: sinter.receive
// CHECK-SAME: sinter.receive
module attributes {sinter.grid = #sinter.grid<pipeline = 2>} {
  func.func @evaluate(%x: tensor<4x4xf32> {sinter.input = "tokens"},
                      %a: tensor<2x4xf32> {sinter.state = "a", sinter.role = #sinter.role<parameter>},
                      %b: tensor<2x4xf32> {sinter.state = "b", sinter.role = #sinter.role<parameter>})
      -> (tensor<4x4xf32> {sinter.output = "loss"}) attributes {sinter.entry} {
    %all = sinter.concat %a, %b {dim = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32> loc("layer.0")
    %y = sinter.matmul %x, %all : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.0")
    %z = sinter.matmul %y, %all : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("layer.1")
    return %z : tensor<4x4xf32>
  }
}
