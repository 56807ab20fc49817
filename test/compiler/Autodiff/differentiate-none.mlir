// RUN: sinter-opt %s --sinter-differentiate | FileCheck %s

// Without the mark a function keeps what it is.
// CHECK-LABEL: func.func @evaluate
// CHECK-SAME: -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry} {
// CHECK-NEXT: %[[S:.*]] = sinter.reduce sum
// CHECK-NEXT: return %[[S]]
func.func @evaluate(%w: tensor<4xf32> {sinter.parameter = "w"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry} {
  %0 = sinter.reduce sum %w : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
