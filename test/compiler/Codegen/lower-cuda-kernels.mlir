// RUN: sinter-opt %s --sinter-lower-cuda-kernels | FileCheck %s

module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "", vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 60000, gflops_bf16 = 800000, memory_gbs = 4800, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 52428800, l3_bytes = 0>} {

// CHECK-LABEL: func.func private @relu
// CHECK-SAME: sinter.grid = 4
func.func private @relu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Columns are cut into more items than on a CPU.
// CHECK: func.func private @column_sum
// CHECK-SAME: sinter.grid = 8
func.func private @column_sum(%x: tensor<37x256xf32>) -> tensor<256xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.column_sum %x : (tensor<37x256xf32>) -> tensor<256xf32>
  return %0 : tensor<256xf32>
}

// So are rows without reductions, where there are few.
// CHECK: func.func private @one_row
// CHECK-SAME: sinter.grid = 12
func.func private @one_row(%x: tensor<1x12288xf32>) -> tensor<1x12288xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.relu %x : (tensor<1x12288xf32>) -> tensor<1x12288xf32>
  return %0 : tensor<1x12288xf32>
}

// CHECK: func.func private @dropout
func.func private @dropout(%x: tensor<16x32xf32>, %s: tensor<2xi32>) -> tensor<16x32xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.dropout %x, %s {probability = 0.5 : f64, stream = 7 : i64} : (tensor<16x32xf32>, tensor<2xi32>) -> tensor<16x32xf32>
  return %0 : tensor<16x32xf32>
}

// CHECK: func.func private @round
func.func private @round(%x: tensor<16x32xf32>, %s: tensor<2xi32>) -> tensor<16x32xbf16> attributes {sinter.kernel = "rows"} {
  %0 = sinter.stochastic_round %x, %s, %s : (tensor<16x32xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<16x32xbf16>
  return %0 : tensor<16x32xbf16>
}

// CHECK: func.func private @rms_norm
func.func private @rms_norm(%x: tensor<8x64xbf16>, %w: tensor<64xf32>) -> tensor<8x64xbf16> attributes {sinter.kernel = "rows"} {
  %0 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (tensor<8x64xbf16>, tensor<64xf32>) -> tensor<8x64xbf16>
  return %0 : tensor<8x64xbf16>
}
}

// CHECK: module @kernels
// CHECK: func.func private @stochastic_round(f32, i64, i32, i32, i32, i32) -> f32 attributes {sinter.library}
// CHECK: func.func private @is_kept(i64, i32, i32, i32, i32) -> i1 attributes {sinter.library}
// CHECK: func.func @relu(%{{.*}}: memref<32xf32>, %{{.*}}: memref<32xf32>, %{{.*}}: index, %{{.*}}: index)

// Rows are added in groups, side by side, and then the groups.
// CHECK: func.func @column_sum
// CHECK: %[[SUMS:.*]] = memref.alloca() {{.*}} : memref<256xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c37 step %c8
// CHECK: memref.load %arg0
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}, %[[SUMS]]
// CHECK: {sinter.parallel}
// CHECK: memref.load %[[SUMS]]
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}, %arg1
// CHECK: {sinter.parallel}

// Random words are the library's.
// CHECK: func.func @dropout
// CHECK-NOT: arith.mului_extended
// CHECK: call @is_kept
// CHECK: func.func @round
// CHECK: call @stochastic_round

// A row is loaded once.
// CHECK: func.func @rms_norm
// CHECK: %[[ROW:.*]] = memref.alloca() {{.*}} : memref<64xf32>
// CHECK: memref.load %arg0
// CHECK: memref.store %{{.*}}, %[[ROW]]
// CHECK-NOT: memref.load %arg0
// CHECK: memref.load %[[ROW]]
