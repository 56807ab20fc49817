// RUN: sinter-opt %s --sinter-hoist-parameters | FileCheck %s

// Kernels spread and cut parameters with addresses; constants alone are no parameters. Nothing is
// left to preprocess, and there is no entry for it.

// CHECK-NOT: func.func @preprocess
// CHECK-LABEL: func.func @entry
// CHECK-SAME: sinter.parameter = "b"
// CHECK: sinter.slice
// CHECK: sinter.broadcast
// CHECK: sinter.exp
func.func @entry(%x: tensor<4x8xf32> {sinter.input = "x"},
                 %b: tensor<16xf32> {sinter.parameter = "b"}) -> tensor<4x8xf32>
    attributes {sinter.entry} {
  %half = sinter.slice %b {offsets = array<i64: 8>} : (tensor<16xf32>) -> tensor<8xf32>
  %rows = sinter.broadcast %half {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<4x8xf32>
  %y = sinter.add %x, %rows : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = sinter.constant dense<2.0> : tensor<4x8xf32>
  %e = sinter.exp %c : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = sinter.mul %y, %e : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
