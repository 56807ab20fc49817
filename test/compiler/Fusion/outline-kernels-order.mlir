// RUN: sinter-opt %s --sinter-outline-kernels | FileCheck %s

// The order of independent ops makes no other kernel.
// CHECK-LABEL: func.func @orders
// CHECK: %[[A:.*]] = sinter.call_kernel @[[M:.*]](%arg0)
// CHECK: sinter.call_kernel @[[M]](%[[A]])
// CHECK: func.func private @[[M]]
// CHECK-NEXT: %[[EXP:.*]] = sinter.exp %arg0
// CHECK-NEXT: %[[RELU:.*]] = sinter.relu %arg0
// CHECK-NEXT: sinter.sub %[[EXP]], %[[RELU]]
func.func @orders(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
  %0 = sinter.fusion rows(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %1 = sinter.relu %a : (tensor<8xf32>) -> tensor<8xf32>
    %2 = sinter.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    %3 = sinter.sub %2, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    sinter.yield %3 : tensor<8xf32>
  }
  %4 = sinter.fusion rows(%0 : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %5 = sinter.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    %6 = sinter.relu %a : (tensor<8xf32>) -> tensor<8xf32>
    %7 = sinter.sub %5, %6 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    sinter.yield %7 : tensor<8xf32>
  }
  return %4 : tensor<8xf32>
}
