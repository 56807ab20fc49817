// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-form-fusions --sinter-isolate-ops --sinter-select-library-gemm %remarks 2>&1 | FileCheck %s

// The vendor's library adds a bias and a matrix of the result's type, and no more.
// CHECK-DAG: matmul + add + add as one gemm kernel
// CHECK-DAG: the library has no such epilogue
// CHECK-LABEL: func.func @many_rows
// CHECK: sinter.fusion library_gemm
// CHECK: sinter.fusion rows
// CHECK: sinter.silu
func.func @many_rows(%x: tensor<64x128xbf16>, %w: tensor<256x128xbf16>, %b: tensor<256xf32>, %r: tensor<64x256xf32>)
    -> tensor<64x256xf32> attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<64x128xbf16>, tensor<256x128xbf16>) -> tensor<64x256xf32>
  %1 = sinter.broadcast %b {dims = array<i64: 1>} : (tensor<256xf32>) -> tensor<64x256xf32>
  %2 = sinter.add %0, %1 : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %3 = sinter.add %2, %r : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %4 = sinter.silu %3 : (tensor<64x256xf32>) -> tensor<64x256xf32>
  return %4 : tensor<64x256xf32>
}

// A GEMV kernel takes any chain, at the rate of memory.
// CHECK-LABEL: func.func @few_rows
// CHECK: sinter.fusion gemm
// CHECK: sinter.silu
// CHECK-NOT: sinter.fusion
func.func @few_rows(%x: tensor<2x128xbf16>, %w: tensor<256x128xbf16>, %r: tensor<2x256xf32>)
    -> tensor<2x256xf32> attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<2x128xbf16>, tensor<256x128xbf16>) -> tensor<2x256xf32>
  %1 = sinter.silu %0 : (tensor<2x256xf32>) -> tensor<2x256xf32>
  %2 = sinter.mul %1, %r : (tensor<2x256xf32>, tensor<2x256xf32>) -> tensor<2x256xf32>
  return %2 : tensor<2x256xf32>
}

// The second half of the columns multiplies the first: gate and up as one product.
// CHECK-LABEL: func.func @gate_and_up
// CHECK: sinter.fusion gemm
// CHECK: sinter.cast
// CHECK-NOT: sinter.fusion
func.func @gate_and_up(%x: tensor<1x1x128xbf16>, %w: tensor<512x128xbf16>, %b: tensor<512xf32>) -> tensor<1x1x256xbf16>
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<1x1x128xbf16>, tensor<512x128xbf16>) -> tensor<1x1x512xf32>
  %1 = sinter.broadcast %b {dims = array<i64: 2>} : (tensor<512xf32>) -> tensor<1x1x512xf32>
  %2 = sinter.add %0, %1 : (tensor<1x1x512xf32>, tensor<1x1x512xf32>) -> tensor<1x1x512xf32>
  %3 = sinter.slice %2 {offsets = array<i64: 0, 0, 0>} : (tensor<1x1x512xf32>) -> tensor<1x1x256xf32>
  %4 = sinter.silu %3 : (tensor<1x1x256xf32>) -> tensor<1x1x256xf32>
  %5 = sinter.slice %2 {offsets = array<i64: 0, 0, 256>} : (tensor<1x1x512xf32>) -> tensor<1x1x256xf32>
  %6 = sinter.mul %4, %5 : (tensor<1x1x256xf32>, tensor<1x1x256xf32>) -> tensor<1x1x256xf32>
  %7 = sinter.cast %6 : (tensor<1x1x256xf32>) -> tensor<1x1x256xbf16>
  return %7 : tensor<1x1x256xbf16>
}

// Other parts than halves are no gate.
// CHECK-LABEL: func.func @parts
// CHECK: sinter.fusion gemm
// CHECK: sinter.fusion rows
func.func @parts(%x: tensor<1x128xbf16>, %w: tensor<512x128xbf16>) -> tensor<1x128xf32> attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<1x128xbf16>, tensor<512x128xbf16>) -> tensor<1x512xf32>
  %1 = sinter.slice %0 {offsets = array<i64: 0, 0>} : (tensor<1x512xf32>) -> tensor<1x128xf32>
  %2 = sinter.slice %0 {offsets = array<i64: 0, 384>} : (tensor<1x512xf32>) -> tensor<1x128xf32>
  %3 = sinter.mul %1, %2 : (tensor<1x128xf32>, tensor<1x128xf32>) -> tensor<1x128xf32>
  return %3 : tensor<1x128xf32>
}

// Attention rounds its result once; who reads the rounded one wide widens it.
// CHECK-LABEL: func.func @attention_rounds_once
// CHECK: sinter.fusion attention
// CHECK: sinter.attention
// CHECK-NEXT: sinter.cast {{.*}} -> tensor<1x16x2x8xbf16>
// CHECK-NEXT: sinter.yield
// CHECK: sinter.fusion rows
// CHECK: sinter.cast {{.*}} -> tensor<1x16x2x8xf32>
// CHECK: sinter.quantize
func.func @attention_rounds_once(%q: tensor<1x16x2x8xbf16>) -> (tensor<1x16x2x8xi8>, tensor<1x16x2x1xf32>)
    attributes {sinter.entry} {
  %0 = sinter.attention %q, %q, %q {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>) -> tensor<1x16x2x8xf32>
  %1 = sinter.cast %0 : (tensor<1x16x2x8xf32>) -> tensor<1x16x2x8xbf16>
  %2 = sinter.cast %1 : (tensor<1x16x2x8xbf16>) -> tensor<1x16x2x8xf32>
  %3, %4 = sinter.quantize %2 : (tensor<1x16x2x8xf32>) -> (tensor<1x16x2x8xi8>, tensor<1x16x2x1xf32>)
  return %3, %4 : tensor<1x16x2x8xi8>, tensor<1x16x2x1xf32>
}

// Threads take vectors of what lies together: rows that are put together of others' columns are in
// memory before they are added up, so that the order of the sum is that of any row of the length.
// CHECK-LABEL: func.func @joined_rows
// CHECK: sinter.slice
// CHECK-NEXT: sinter.yield
// CHECK: sinter.reduce sum
func.func @joined_rows(%x: tensor<2x138xf32>) -> tensor<f32> attributes {sinter.entry} {
  %0 = sinter.slice %x {offsets = array<i64: 0, 34>} : (tensor<2x138xf32>) -> tensor<2x20xf32>
  %1 = sinter.reshape %0 : (tensor<2x20xf32>) -> tensor<40xf32>
  %2 = sinter.reduce sum %1 : (tensor<40xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// Rows of one row's columns are not.
// CHECK-LABEL: func.func @cut_rows
// CHECK: sinter.fusion rows(%arg0
// CHECK: sinter.slice
// CHECK: sinter.reduce sum
func.func @cut_rows(%x: tensor<4x96xf32>) -> tensor<4x2xf32> attributes {sinter.entry} {
  %0 = sinter.slice %x {offsets = array<i64: 0, 32>} : (tensor<4x96xf32>) -> tensor<4x64xf32>
  %1 = sinter.reshape %0 : (tensor<4x64xf32>) -> tensor<4x2x32xf32>
  %2 = sinter.reduce sum %1 : (tensor<4x2x32xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
