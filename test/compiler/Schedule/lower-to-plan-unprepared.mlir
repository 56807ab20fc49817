// RUN: sinter-opt %s --sinter-lower-to-plan --sinter-verify-schedule | FileCheck %s

// A step that reads the checkpoint's tensors as they are gets them from a copy made once.

// CHECK-LABEL: plan.program @preprocess
// CHECK: %[[W:.*]] = plan.slice checkpoint[0, 32] "w" : tensor<8xf32>
// CHECK: %[[P:.*]] = plan.slice parameter[0, 32] "w (as stored)" : tensor<8xf32>
// CHECK: plan.copy(%[[W]]) -> (%[[P]])
// CHECK-NOT: plan.copy

func.func private @relu(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {sinter.kernel = "rows", sinter.grid = 1 : i64} {
  %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: plan.program @prefill
func.func @prefill(%w: tensor<8xf32> {sinter.parameter = "w"}) -> (tensor<8xf32> {sinter.output = "y"})
    attributes {sinter.entry} {
  // CHECK: %[[IN:.*]] = plan.slice parameter[0, 32] "w (as stored)" : tensor<8xf32>
  // CHECK: plan.launch @relu grid 1(%[[IN]])
  %0 = sinter.call_kernel @relu(%w) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: plan.program @decode
func.func @decode(%w: tensor<8xf32> {sinter.parameter = "w"}) -> (tensor<8xf32> {sinter.output = "y"})
    attributes {sinter.entry} {
  // CHECK: plan.slice parameter[0, 32] "w (as stored)"
  %0 = sinter.call_kernel @relu(%w) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
