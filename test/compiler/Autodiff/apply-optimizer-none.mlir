// RUN: sinter-opt %s --sinter-apply-optimizer | FileCheck %s

// Nothing trains: parameters stay tensors of the checkpoint.
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: sinter.parameter = "w"
// CHECK-NEXT: sinter.relu
// CHECK-NEXT: return
func.func @evaluate(%w: tensor<4xf32> {sinter.parameter = "w"})
    -> (tensor<4xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.relu %w : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
