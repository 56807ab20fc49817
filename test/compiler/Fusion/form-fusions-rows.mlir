// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v3 --sinter-form-fusions | FileCheck %s
// Rows that data choose are chosen from what is in memory, under whatever shape: not from what the
// same kernel reduces.

// CHECK-LABEL: func.func @reshaped
// CHECK: sinter.rms_norm
// CHECK: sinter.fusion rows
// CHECK-NEXT: ^bb0
// CHECK-NEXT: sinter.reshape
// CHECK-NEXT: sinter.embedding
func.func @reshaped(%x: tensor<2x4x32xf32> {sinter.input = "x"}, %w: tensor<32xf32> {sinter.input = "w"},
    %ids: tensor<16xi32> {sinter.input = "ids"}) -> (tensor<16x32xf32>, tensor<2x4x32xf32>) attributes {sinter.entry} {
  %0 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (tensor<2x4x32xf32>, tensor<32xf32>) -> tensor<2x4x32xf32>
  %1 = sinter.reshape %0 : (tensor<2x4x32xf32>) -> tensor<8x32xf32>
  %2 = sinter.embedding %1, %ids : (tensor<8x32xf32>, tensor<16xi32>) -> tensor<16x32xf32>
  %3 = sinter.silu %2 : (tensor<16x32xf32>) -> tensor<16x32xf32>
  return %3, %0 : tensor<16x32xf32>, tensor<2x4x32xf32>
}
