// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-split-attention-grad | FileCheck %s
// RUN: not sinter-opt %s --sinter-split-attention-grad 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: expected the module to say what it is compiled for (sinter.target)

// What yields one side alone stays.
// CHECK-LABEL: func.func @queries
// CHECK-COUNT-1: sinter.fusion attention_grad
// CHECK-NOT: sinter.fusion
func.func @queries(%q: tensor<1x4x2x8xf32>, %l: tensor<1x4x2xf32>) -> tensor<1x4x2x8xf32>
    attributes {sinter.entry} {
  %0 = sinter.fusion attention_grad(%q, %l : tensor<1x4x2x8xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x2x8xf32>) {
  ^bb0(%a: tensor<1x4x2x8xf32>, %d: tensor<1x4x2xf32>):
    %1:3 = sinter.attention_grad %a, %a, %a, %a, %d, %d {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
        : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>)
        -> (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
    sinter.yield %1#0 : tensor<1x4x2x8xf32>
  }
  return %0 : tensor<1x4x2x8xf32>
}
