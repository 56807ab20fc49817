// What must not be merged stays, and a remark says why.
// RUN: %opt %s --pass-pipeline='builtin.module(example-merge-row-kernels)' %remarks -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s --input-file=%t

func.func private @double(%x: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.add %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @turned_sum(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.add %x, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
func.func private @product(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// REMARK: what @double computes is needed elsewhere too
// CHECK-LABEL: func.func @two_readers(
// CHECK-COUNT-2: sinter.call_kernel @double
func.func @two_readers(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = sinter.call_kernel @double(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = sinter.call_kernel @double(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// REMARK: @turned_sum contains sinter.transpose
// CHECK-LABEL: func.func @other_rows(
// CHECK:         sinter.call_kernel @double
// CHECK:         sinter.call_kernel @turned_sum
func.func @other_rows(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = sinter.call_kernel @double(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = sinter.call_kernel @turned_sum(%0, %x)
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// REMARK: @product is not a rows kernel
// CHECK-LABEL: func.func @gemm(
// CHECK:         sinter.call_kernel @double
// CHECK:         sinter.call_kernel @product
func.func @gemm(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = sinter.call_kernel @double(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = sinter.call_kernel @product(%0, %w)
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
