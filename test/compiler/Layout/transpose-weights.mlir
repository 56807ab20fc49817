// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-transpose-weights | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-transpose-weights | FileCheck %s --check-prefix=CPU

// CPU-NOT: sinter.transpose

// Rounded first, so that both are preprocessed at once; a part of a parameter is one, too.
// CHECK-LABEL: func.func @weights
// CHECK: %[[C:.*]] = sinter.cast %arg1
// CHECK: %[[T:.*]] = sinter.transpose %[[C]] {permutation = array<i64: 1, 0>} : (tensor<8x16xbf16>) -> tensor<16x8xbf16>
// CHECK: sinter.matmul %arg0, %[[T]] {transpose_rhs} : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x16xf32>
// CHECK: %[[S:.*]] = sinter.slice %arg2
// CHECK: %[[P:.*]] = sinter.transpose %[[S]]
// CHECK: sinter.matmul %arg0, %[[P]] {transpose_rhs}
func.func @weights(%x: tensor<4x8xbf16>, %a: tensor<8x16xf32> {sinter.parameter = "a"},
    %b: tensor<8x32xbf16> {sinter.parameter = "b"}) -> (tensor<4x16xf32>, tensor<4x8xf32>)
    attributes {sinter.entry} {
  %0 = sinter.cast %a : (tensor<8x16xf32>) -> tensor<8x16xbf16>
  %1 = sinter.matmul %x, %0 : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  %2 = sinter.slice %b {offsets = array<i64: 0, 16>} : (tensor<8x32xbf16>) -> tensor<8x8xbf16>
  %3 = sinter.matmul %x, %2 : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xf32>
  return %1, %3 : tensor<4x16xf32>, tensor<4x8xf32>
}

// What lies so already, what a step changes, and what it computes.
// CHECK-LABEL: func.func @others
// CHECK-NOT: sinter.transpose
// CHECK: return
func.func @others(%x: tensor<8x8xf32>, %a: tensor<16x8xf32> {sinter.parameter = "a"},
    %b: tensor<8x8xf32> {sinter.state = "b"}) -> (tensor<8x16xf32>, tensor<8x8xf32>)
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a {transpose_rhs} : (tensor<8x8xf32>, tensor<16x8xf32>) -> tensor<8x16xf32>
  %1 = sinter.matmul %x, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = sinter.matmul %x, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %2 : tensor<8x16xf32>, tensor<8x8xf32>
}
