// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-precision-pipeline="dtype=f16 cache-dtype=bf16" | FileCheck %s

// A GPU's products read plain matrices, transposed or not, of any type.
// CHECK-LABEL: func.func @products
// CHECK-NOT: sinter.pack
// CHECK: sinter.matmul {{.*}} {transpose_rhs} : (tensor<4x8xf16>, tensor<16x8xf16>) -> tensor<4x16xf32>
// CHECK: sinter.matmul {{.*}} {transpose_lhs} : (tensor<4x8xf16>, tensor<4x16xf16>) -> tensor<8x16xf32>
func.func @products(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<8x16xf32>
    attributes {sinter.entry} {
  %y = sinter.matmul %x, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %z = sinter.matmul %x, %y {transpose_lhs} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  return %z : tensor<8x16xf32>
}

// Weights that are integers are widened to what their rows are rounded to; scales stay as they are,
// minima are f32.
// CHECK-LABEL: func.func @integers
// CHECK: sinter.matmul {{.*}}, %arg2 minima {{.*}} : (tensor<4x32xf16>, tensor<16x32xi4>, tensor<16x1xbf16>, tensor<16x1xf32>) -> tensor<4x16xf32>
func.func @integers(%x: tensor<4x32xf32>, %w: tensor<16x32xi4>, %s: tensor<16x1xbf16>, %m: tensor<16x1xbf16>)
    -> tensor<4x16xf32> attributes {sinter.entry} {
  %y = sinter.matmul %x, %w, %s minima %m {transpose_rhs}
     : (tensor<4x32xf32>, tensor<16x32xi4>, tensor<16x1xbf16>, tensor<16x1xbf16>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// Beside rows of bytes, which a library may multiply, scales are f32.
// CHECK-LABEL: func.func @bytes
// CHECK: sinter.matmul %arg0, %arg1, %{{.*}} rows %arg3 {{.*}} : (tensor<4x32xi8>, tensor<16x32xi8>, tensor<16x1xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
func.func @bytes(%x: tensor<4x32xi8>, %w: tensor<16x32xi8>, %s: tensor<16x1xbf16>, %r: tensor<4x1xf32>)
    -> tensor<4x16xf32> attributes {sinter.entry} {
  %y = sinter.matmul %x, %w, %s rows %r {transpose_rhs}
     : (tensor<4x32xi8>, tensor<16x32xi8>, tensor<16x1xbf16>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// Its matrix units multiply narrow queries, keys and values; a cache has a type of its own.
// CHECK-LABEL: func.func @attention
// CHECK: sinter.attention {{.*}} : (tensor<1x4x2x8xf16>, tensor<1x4x2x8xf16>, tensor<1x4x2x8xf16>) -> tensor<1x4x2x8xf32>
// CHECK: sinter.attention {{.*}} : (tensor<1x4x2x8xf16>, tensor<1x32x2x8xbf16>, tensor<1x32x2x8xbf16>, tensor<1xi32>) -> tensor<1x4x2x8xf32>
func.func @attention(%q: tensor<1x4x2x8xf32>, %k: tensor<1x4x2x8xf32>,
    %cache: tensor<1x32x2x8xf32> {sinter.state = "c"}, %start: tensor<1xi32>, %count: tensor<1xi32>)
    -> (tensor<1x4x2x8xf32>, tensor<1x32x2x8xf32> {sinter.state = "c"}) attributes {sinter.entry} {
  %0 = sinter.attention %q, %k, %k {scale = 1.0, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
     : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  %1 = sinter.cache_append %cache, %k, %start, %count : (tensor<1x32x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x32x2x8xf32>
  %2 = sinter.attention %0, %1, %1, %start {scale = 1.0, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>}
     : (tensor<1x4x2x8xf32>, tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>, tensor<1xi32>) -> tensor<1x4x2x8xf32>
  return %2, %1 : tensor<1x4x2x8xf32>, tensor<1x32x2x8xf32>
}
