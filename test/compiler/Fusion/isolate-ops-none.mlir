// RUN: sinter-opt %s --sinter-isolate-ops | FileCheck %s

// A table of numbers is memory; a fusion is a kernel already; no entry, no kernels.
// CHECK-LABEL: func.func @entry
// CHECK: sinter.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-COUNT-1: sinter.fusion
// CHECK-NOT: sinter.fusion
func.func @entry(%x: tensor<2xf32>) -> tensor<2xf32> attributes {sinter.entry} {
  %c = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = sinter.fusion rows(%x, %c : tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %1 = sinter.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    sinter.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
// CHECK-LABEL: func.func @other
// CHECK-NEXT: sinter.relu
func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sinter.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
