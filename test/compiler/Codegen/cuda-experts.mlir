// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels | FileCheck %s

#rows = #sinter.panels<width = 64, interleave = 1, depth = 1>
#wide = #sinter.panels<width = 96, interleave = 1, depth = 1>

// One row of each of eight groups at the most: 8 tiles of 3 times 32 columns.
// CHECK: func.func private @few({{.*}} attributes {sinter.block = 256 : i64, sinter.grid = 24 : i64
func.func private @few(%x: tensor<8x64xbf16>, %w: tensor<128x96x64xbf16>, %o: tensor<129xi32>) -> tensor<8x96xf32>
    attributes {sinter.kernel = "grouped_gemm"} {
  %0 = sinter.grouped_matmul %x, %w, %o {transpose_rhs}
    : (tensor<8x64xbf16>, tensor<128x96x64xbf16>, tensor<129xi32>) -> tensor<8x96xf32>
  return %0 : tensor<8x96xf32>
}

// Six tiles of 64 rows, and one more of each of four groups, times two of columns.
// CHECK: func.func private @many({{.*}} attributes {sinter.block = 128 : i64, sinter.grid = 20 : i64, {{.*}}sinter.shared = 30720 : i64}
func.func private @many(%x: tensor<400x64xbf16>, %w: tensor<4x96x64xbf16>, %o: tensor<5xi32>) -> tensor<400x96xf32>
    attributes {sinter.kernel = "grouped_gemm"} {
  %0 = sinter.grouped_matmul %x, %w, %o {transpose_rhs}
    : (tensor<400x64xbf16>, tensor<4x96x64xbf16>, tensor<5xi32>) -> tensor<400x96xf32>
  return %0 : tensor<400x96xf32>
}

// Matrices as they are stored, of few rows, too; without matrix instructions.
func.func private @plain(%x: tensor<4x96xf32>, %w: tensor<4x96x64xf32>, %o: tensor<5xi32>) -> tensor<4x64xf32>
    attributes {sinter.kernel = "grouped_gemm"} {
  %0 = sinter.grouped_matmul %x, %w, %o
    : (tensor<4x96xf32>, tensor<4x96x64xf32>, tensor<5xi32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// Rows enough for large tiles.
// CHECK: func.func private @large({{.*}} attributes {sinter.block = 256 : i64, sinter.grid = 12 : i64, {{.*}}sinter.shared = 61440 : i64}
func.func private @large(%x: tensor<1024x64xf16>, %w: tensor<4x96x64xf16>, %o: tensor<5xi32>) -> tensor<1024x96xf32>
    attributes {sinter.kernel = "grouped_gemm"} {
  %0 = sinter.grouped_matmul %x, %w, %o {transpose_rhs}
    : (tensor<1024x64xf16>, tensor<4x96x64xf16>, tensor<5xi32>) -> tensor<1024x96xf32>
  return %0 : tensor<1024x96xf32>
}

// CHECK: func.func private @outer({{.*}} attributes {sinter.block = 256 : i64, sinter.grid = 32 : i64, {{.*}}sinter.shared = 52224 : i64}
func.func private @outer(%x: tensor<20x256xbf16>, %y: tensor<20x512xbf16>, %o: tensor<5xi32>) -> tensor<4x256x512xf32>
    attributes {sinter.kernel = "grouped_gemm"} {
  %0 = sinter.grouped_outer %x, %y, %o
    : (tensor<20x256xbf16>, tensor<20x512xbf16>, tensor<5xi32>) -> tensor<4x256x512xf32>
  return %0 : tensor<4x256x512xf32>
}

// CHECK: func.func private @choice({{.*}} attributes {sinter.block = 128 : i64, sinter.grid = 3 : i64
func.func private @choice(%x: tensor<9x128xf32>) -> (tensor<9x8xi32>, tensor<9x8xf32>)
    attributes {sinter.kernel = "routing"} {
  %0:2 = sinter.top_k %x : (tensor<9x128xf32>) -> (tensor<9x8xf32>, tensor<9x8xi32>)
  return %0#1, %0#0 : tensor<9x8xi32>, tensor<9x8xf32>
}

// What nobody needs is not written.
// CHECK: func.func private @order({{.*}} attributes {sinter.block = 512 : i64, sinter.grid = 128 : i64
func.func private @order(%ids: tensor<9x8xi32>) -> (tensor<72xi32>, tensor<9x8xi32>, tensor<129xi32>)
    attributes {sinter.kernel = "routing"} {
  %0:4 = sinter.route %ids : (tensor<9x8xi32>) -> (tensor<72xi32>, tensor<72xi32>, tensor<9x8xi32>, tensor<129xi32>)
  return %0#1, %0#2, %0#3 : tensor<72xi32>, tensor<9x8xi32>, tensor<129xi32>
}

// By integers, which are read row by row: the launches of numbers.
// CHECK: func.func private @few_integers({{.*}} attributes {sinter.block = 256 : i64, sinter.grid = 24 : i64
func.func private @few_integers(%x: tensor<8x64xbf16>, %w: tensor<128x96x64xi4, #rows>, %o: tensor<129xi32>, %s: tensor<128x96x2xf16>, %m: tensor<128x96x2xf32>)
    -> tensor<8x96xf32> attributes {sinter.kernel = "grouped_gemm"} {
  %0 = sinter.grouped_matmul %x, %w, %o scales %s minima %m {transpose_rhs}
    : (tensor<8x64xbf16>, tensor<128x96x64xi4, #rows>, tensor<129xi32>, tensor<128x96x2xf16>, tensor<128x96x2xf32>) -> tensor<8x96xf32>
  return %0 : tensor<8x96xf32>
}

// CHECK: func.func private @many_integers({{.*}} attributes {sinter.block = 128 : i64, sinter.grid = 20 : i64, {{.*}}sinter.shared = 30720 : i64}
func.func private @many_integers(%x: tensor<400x64xbf16>, %w: tensor<4x96x64xi8>, %o: tensor<5xi32>, %s: tensor<4x96x1xf32>)
    -> tensor<400x96xf32> attributes {sinter.kernel = "grouped_gemm"} {
  %0 = sinter.grouped_matmul %x, %w, %o scales %s {transpose_rhs}
    : (tensor<400x64xbf16>, tensor<4x96x64xi8>, tensor<5xi32>, tensor<4x96x1xf32>) -> tensor<400x96xf32>
  return %0 : tensor<400x96xf32>
}

// All experts' rows of four bits are packed at once.
// CHECK: func.func private @pack({{.*}} attributes {sinter.block = 256 : i64, sinter.grid = 5 : i64
func.func private @pack(%w: tensor<4x96x72xi4>) -> tensor<4x96x72xi4, #wide> attributes {sinter.kernel = "pack_integers"} {
  %0 = sinter.pack %w : (tensor<4x96x72xi4>) -> tensor<4x96x72xi4, #wide>
  return %0 : tensor<4x96x72xi4, #wide>
}

// CHECK-LABEL: module @kernels
// CHECK: func.func private @few(
// CHECK-SAME: arguments = array<i64: 0, 1, 2, 3>
// CHECK-SAME: function = "grouped_gemv", header = "grouped.cuh"
// CHECK-SAME: parameters = {Element = bf16, Out = f32, groups = 128 : i64, k = 64 : i64, m = 8 : i64, n = 96 : i64}
// CHECK: func.func private @many(
// CHECK-SAME: function = "grouped_gemm"
// CHECK-SAME: rhsTransposed = true, tile = 64 : i64
// CHECK: func.func private @plain(
// CHECK-SAME: function = "grouped_gemm"
// CHECK-SAME: rhsTransposed = false, tile = 64 : i64
// CHECK: func.func private @large(
// CHECK-SAME: function = "grouped_gemm"
// CHECK-SAME: rhsTransposed = true, tile = 128 : i64
// CHECK: func.func private @outer(
// CHECK-SAME: function = "grouped_outer"
// CHECK-SAME: groups = 4 : i64, k = 20 : i64, m = 256 : i64, n = 512 : i64, tile = 128 : i64
// CHECK: func.func private @choice(
// CHECK-SAME: arguments = array<i64: 0, 2, 1>
// CHECK-SAME: function = "top_k", header = "routing.cuh"
// CHECK: func.func private @order(
// CHECK-SAME: arguments = array<i64: 0, -1, 1, 2, 3>
// CHECK-SAME: function = "route"
// CHECK-SAME: experts = 128 : i64, k = 8 : i64, tokens = 9 : i64
// CHECK: func.func private @few_integers(
// CHECK-SAME: arguments = array<i64: 0, 1, 3, 4, 2, 5>
// CHECK-SAME: function = "grouped_gemv_integers", header = "grouped_integers.cuh"
// CHECK-SAME: RhsElement = i8, ScaleElement = f16, bits = 4 : i64, group = 32 : i64, groups = 128 : i64, hasMinima = true
// CHECK: func.func private @many_integers(
// CHECK-SAME: arguments = array<i64: 0, 1, 3, -1, 2, 4>
// CHECK-SAME: function = "grouped_gemm_integers"
// CHECK-SAME: ScaleElement = f32, bits = 8 : i64, group = 64 : i64, groups = 4 : i64, hasMinima = false
// CHECK-SAME: tile = 64 : i64
// CHECK: func.func private @pack(
// CHECK-SAME: parameters = {columns = 72 : i64, rows = 384 : i64}
