// RUN: sinter-opt %s --split-input-file --sinter-outline-kernels | FileCheck %s

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

// -----

// Which input came first when they were fused does not matter: the call has them as the kernel does.
// CHECK-LABEL: func.func @inputs
// CHECK: sinter.call_kernel @[[I:.*]](%arg0, %arg1) :
// CHECK: sinter.call_kernel @[[I]](%arg1, %arg0) :
// One that reads its first input twice is another.
// CHECK: sinter.call_kernel @[[J:.*]](%arg0, %arg1) :
// CHECK-NOT: sinter.call_kernel
func.func @inputs(%x: tensor<16xf32>, %y: tensor<16xf32>)
    -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) attributes {sinter.entry} {
  %0 = sinter.fusion rows(%x, %y : tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>) {
  ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
    %1 = sinter.exp %a : (tensor<16xf32>) -> tensor<16xf32>
    %2 = sinter.sub %1, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    sinter.yield %2 : tensor<16xf32>
  }
  %3 = sinter.fusion rows(%x, %y : tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>) {
  ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
    %4 = sinter.exp %b : (tensor<16xf32>) -> tensor<16xf32>
    %5 = sinter.sub %4, %a : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    sinter.yield %5 : tensor<16xf32>
  }
  %6 = sinter.fusion rows(%x, %y : tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>) {
  ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
    %7 = sinter.exp %a : (tensor<16xf32>) -> tensor<16xf32>
    %8 = sinter.sub %7, %a : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %9 = sinter.add %8, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    sinter.yield %9 : tensor<16xf32>
  }
  return %0, %3, %6 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
