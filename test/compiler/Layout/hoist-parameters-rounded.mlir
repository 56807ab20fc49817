// RUN: sinter-opt %s --sinter-hoist-parameters | FileCheck %s

// A bias that a library adds is rounded beforehand; the entry widens it, and so knows that it is
// narrow.
// CHECK-LABEL: func.func @preprocess
// CHECK-SAME: -> (tensor<16xbf16> {sinter.preprocessed = "p0"})
// CHECK-LABEL: func.func @prefill
// CHECK-SAME: %[[NARROW:[a-z0-9]+]]: tensor<16xbf16> {sinter.preprocessed = "p0"}
// CHECK: %[[WIDE:.*]] = sinter.cast %[[NARROW]] : (tensor<16xbf16>) -> tensor<16xf32>
// CHECK: sinter.broadcast %[[WIDE]]
func.func @prefill(%x: tensor<4x16xf32> {sinter.input = "x"}, %b: tensor<16xf32> {sinter.parameter = "b"})
    -> (tensor<4x16xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %narrow = sinter.cast %b : (tensor<16xf32>) -> tensor<16xbf16>
  %wide = sinter.cast %narrow : (tensor<16xbf16>) -> tensor<16xf32>
  %spread = sinter.broadcast %wide {dims = array<i64: 1>} : (tensor<16xf32>) -> tensor<4x16xf32>
  %y = sinter.add %x, %spread : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
