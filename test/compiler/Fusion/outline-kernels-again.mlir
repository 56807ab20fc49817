// RUN: sinter-opt %s --sinter-outline-kernels --cse | FileCheck %s

// What is computed again shares the kernel of the first time, and its call stays another one.
// CHECK-LABEL: func.func @again
// CHECK: sinter.call_kernel @[[R:.*]](%arg0) :
// CHECK: sinter.call_kernel @[[R]](%arg0) {sinter.recompute} :
func.func @again(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {sinter.entry} {
  %0 = sinter.fusion rows(%x : tensor<16xf32>) -> (tensor<16xf32>) {
  ^bb0(%a: tensor<16xf32>):
    %1 = sinter.exp %a : (tensor<16xf32>) -> tensor<16xf32>
    sinter.yield %1 : tensor<16xf32>
  }
  %2 = sinter.fusion rows(%x : tensor<16xf32>) -> (tensor<16xf32>) {
  ^bb0(%a: tensor<16xf32>):
    %3 = sinter.exp %a {sinter.recompute} : (tensor<16xf32>) -> tensor<16xf32>
    sinter.yield %3 : tensor<16xf32>
  }
  return %0, %2 : tensor<16xf32>, tensor<16xf32>
}
