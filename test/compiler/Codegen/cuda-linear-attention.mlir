// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels | FileCheck %s

// A step: 64 columns of two slots' six heads, 32 of them a block.
// CHECK: func.func private @step({{.*}} attributes {sinter.block = 64 : i64, sinter.grid = 24 : i64, {{.*}}sinter.shared = 0 : i64}
func.func private @step(%s: tensor<2x6x128x64xf32>, %q: tensor<2x1x2x128xf32>, %k: tensor<2x1x2x128xf32>, %v: tensor<2x1x6x64xbf16>,
    %d: tensor<2x1x6xf32>, %b: tensor<2x1x6xf32>, %start: tensor<2xi32>, %count: tensor<2xi32>)
    -> (tensor<2x6x128x64xf32>, tensor<2x1x6x64xbf16>) attributes {sinter.kernel = "linear_attention"} {
  %y, %next = sinter.linear_attention %q, %k, %v, %d, %b, %s, %start, %count
    {scale = 0.25, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1>}
    : (tensor<2x1x2x128xf32>, tensor<2x1x2x128xf32>, tensor<2x1x6x64xbf16>, tensor<2x1x6xf32>, tensor<2x1x6xf32>,
       tensor<2x6x128x64xf32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2x1x6x64xbf16>, tensor<2x6x128x64xf32>)
  return %next, %y : tensor<2x6x128x64xf32>, tensor<2x1x6x64xbf16>
}

// A step of columns that no 16 bytes hold.
// CHECK: func.func private @odd_step({{.*}} attributes {sinter.block = 64 : i64, sinter.grid = 4 : i64, {{.*}}sinter.shared = 0 : i64
func.func private @odd_step(%q: tensor<1x1x1x160xf32>, %v: tensor<1x1x1x13xf32>, %d: tensor<1x1x1xf32>)
    -> tensor<1x1x1x13xf32> attributes {sinter.kernel = "linear_attention"} {
  %y = sinter.linear_attention %q, %q, %v, %d, %d {scale = 0.25, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>}
    : (tensor<1x1x1x160xf32>, tensor<1x1x1x160xf32>, tensor<1x1x1x13xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> tensor<1x1x1x13xf32>
  return %y : tensor<1x1x1x13xf32>
}

// Chunks: 16 columns a block, 16 tokens of f32 at a time.
// CHECK: func.func private @chunk({{.*}} attributes {sinter.block = 128 : i64, sinter.grid = 8 : i64, {{.*}}sinter.shared = 35072 : i64
func.func private @chunk(%q: tensor<1x9x2x128xf32>, %k: tensor<1x9x2x128xf32>, %v: tensor<1x9x2x64xf32>, %d: tensor<1x9x2xf32>)
    -> tensor<1x9x2x64xf32> attributes {sinter.kernel = "linear_attention"} {
  %y = sinter.linear_attention %q, %k, %v, %d, %d {scale = 0.25, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>}
    : (tensor<1x9x2x128xf32>, tensor<1x9x2x128xf32>, tensor<1x9x2x64xf32>, tensor<1x9x2xf32>, tensor<1x9x2xf32>) -> tensor<1x9x2x64xf32>
  return %y : tensor<1x9x2x64xf32>
}

// Keys that 32 lanes share.
// CHECK: func.func private @long({{.*}} attributes {sinter.block = 128 : i64, sinter.grid = 4 : i64, {{.*}}sinter.shared = 15520 : i64
func.func private @long(%q: tensor<1x2x1x600xbf16>, %v: tensor<1x2x1x13xf32>, %d: tensor<1x2x1xf32>)
    -> tensor<1x2x1x13xf32> attributes {sinter.kernel = "linear_attention"} {
  %y = sinter.linear_attention %q, %q, %v, %d, %d {scale = 0.25, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x1x600xbf16>, tensor<1x2x1x600xbf16>, tensor<1x2x1x13xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>) -> tensor<1x2x1x13xf32>
  return %y : tensor<1x2x1x13xf32>
}

// CHECK-LABEL: module @kernels
// CHECK: func.func private @step(
// CHECK-SAME: arguments = array<i64: 1, 2, 3, 4, 5, 0, 6, 7, 9, 8>
// CHECK-SAME: function = "linear_attention", header = "linear_attention.cuh"
// CHECK-SAME: Beta = f32, Decay = f32, Key = f32, Query = f32, Result = bf16, Value = bf16, additive = false, depth = 128 : i64, groups = 2 : i64, hasState = true, heads = 6 : i64, scale = 2.500000e-01 : f64, slots = 2 : i64, tokens = 1 : i64, width = 64 : i64
// CHECK: func.func private @odd_step(
// CHECK-SAME: arguments = array<i64: 0, 0, 1, 2, 2, -1, -1, -1, 3, -1>
// CHECK-SAME: hasState = false
