// RUN: %opt %s --pass-pipeline='builtin.module(example-merge-row-kernels)' | FileCheck %s
//
// The numbers stay: before and after, the check holds.
// RUN: %opt %s --pass-pipeline='builtin.module(sinter-evaluate{function=values})' -o %t
// RUN: %opt %s -o %t --pass-pipeline='builtin.module(\
// RUN:   example-merge-row-kernels,sinter-evaluate{function=values})'

func.func private @double(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func private @scaled_norm(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %s: tensor<4x8xf32>)
    -> tensor<4x8xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = sinter.mul %0, %s : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// Two equal layers become two calls of one merged kernel. What both kernels read is one input.
// Layer by layer it ends: the first one's result is also a result of the function.
// CHECK-NOT:   @double
// CHECK-LABEL: func.func @layers(
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8xf32>
// CHECK-NEXT:    %[[A:.*]] = sinter.call_kernel @[[KERNEL:.*]](%[[X]], %[[W]])
// CHECK-NEXT:    %[[B:.*]] = sinter.call_kernel @[[KERNEL]](%[[A]], %[[W]])
// CHECK-NEXT:    return %[[A]], %[[B]]
func.func @layers(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = sinter.call_kernel @double(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.call_kernel @scaled_norm(%0, %w, %x)
    : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = sinter.call_kernel @double(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = sinter.call_kernel @scaled_norm(%2, %w, %1)
    : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

func.func private @sum(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2x2xf32>
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.add %x, %y : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
func.func private @difference(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2x2xf32>
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.sub %x, %y : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// (x + y) - (x - y) = 2y, in one kernel: both producers go into the consumer.
// CHECK-LABEL: func.func @values(
// CHECK-COUNT-1: sinter.call_kernel
// CHECK-NOT:     sinter.call_kernel
// CHECK:         check.expect_const
func.func @values() {
  %x = sinter.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = sinter.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %0 = sinter.call_kernel @sum(%x, %y) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = sinter.call_kernel @difference(%x, %y)
    : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = sinter.call_kernel @difference(%0, %1)
    : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_const %2, dense<[[10.0, 12.0], [14.0, 16.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  return
}
