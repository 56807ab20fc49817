// RUN: sinter-opt %s --sinter-pack-weights | FileCheck %s

// CHECK-LABEL: func.func @plain
// CHECK: %[[P:.*]] = sinter.pack %arg1 : (tensor<8x16xf32>) -> tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
// CHECK: sinter.matmul %arg0, %[[P]] : (tensor<4x8xf32>, tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x16xf32>
func.func @plain(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// CHECK-LABEL: func.func @transposed
// CHECK: %[[T:.*]] = sinter.transpose %arg1 {permutation = array<i64: 1, 0>} : (tensor<16x8xbf16>) -> tensor<8x16xbf16>
// CHECK: %[[P:.*]] = sinter.pack %[[T]] : (tensor<8x16xbf16>) -> tensor<8x16xbf16, #sinter.panels<width = 64, interleave = 2, depth = 32>>
// CHECK: sinter.matmul %arg0, %[[P]] : (tensor<4x8xbf16>, tensor<8x16xbf16, #sinter.panels<width = 64, interleave = 2, depth = 32>>) -> tensor<4x16xf32>
func.func @transposed(%x: tensor<4x8xbf16>, %w: tensor<16x8xbf16>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %w {transpose_rhs} : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// A gradient's sum over rows: both operands hold pairs of rows.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[X:.*]] = sinter.pack %arg0 : (tensor<32x8xbf16>) -> tensor<32x8xbf16, #sinter.panels<width = 64, interleave = 2, depth = 32>>
// CHECK: %[[G:.*]] = sinter.pack %arg1 : (tensor<32x16xbf16>) -> tensor<32x16xbf16, #sinter.panels<width = 64, interleave = 2, depth = 32>>
// CHECK: sinter.matmul %[[X]], %[[G]] {transpose_lhs}
func.func @gradient(%x: tensor<32x8xbf16>, %g: tensor<32x16xbf16>) -> tensor<8x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %g {transpose_lhs} : (tensor<32x8xbf16>, tensor<32x16xbf16>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @wide_gradient
// CHECK: %[[G:.*]] = sinter.pack %arg1
// CHECK: sinter.matmul %arg0, %[[G]] {transpose_lhs}
func.func @wide_gradient(%x: tensor<32x8xf32>, %g: tensor<32x16xf32>) -> tensor<8x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %g {transpose_lhs} : (tensor<32x8xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
