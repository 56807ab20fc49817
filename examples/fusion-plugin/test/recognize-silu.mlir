// RUN: %opt %s --pass-pipeline='builtin.module(example-recognize-silu)' | FileCheck %s

// CHECK-LABEL: func.func @value_times_sigmoid(
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>
// CHECK-NEXT:    %[[Y:.*]] = sinter.silu %[[X]]
// CHECK-NEXT:    return %[[Y]]
func.func @value_times_sigmoid(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sinter.sigmoid %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sinter.mul %x, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: func.func @sigmoid_times_value(
// CHECK:         sinter.silu
// CHECK-NOT:     sinter.mul
func.func @sigmoid_times_value(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sinter.sigmoid %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sinter.mul %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// A gate is not SiLU: the factors differ.
// CHECK-LABEL: func.func @gate(
// CHECK:         sinter.sigmoid
// CHECK:         sinter.mul
// CHECK-NOT:     sinter.silu
func.func @gate(%x: tensor<8xf32>, %g: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sinter.sigmoid %g : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sinter.mul %x, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
