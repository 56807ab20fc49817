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

// CHECK: func.func private @narrow
func.func private @narrow(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> attributes {sinter.kernel = "rows"} {
  %0 = sinter.cast %x : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %1 = sinter.silu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = sinter.cast %1 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  return %2 : tensor<4x8xbf16>
}

// CHECK: func.func private @wide
func.func private @wide(%x: tensor<4x8xbf16>, %b: tensor<4x8xf32>) -> tensor<4x8xbf16> attributes {sinter.kernel = "rows"} {
  %0 = sinter.cast %x : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %1 = sinter.add %0, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = sinter.silu %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = sinter.cast %2 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  return %3 : tensor<4x8xbf16>
}

// Sums of so many columns that there is no memory for groups of rows.
// CHECK: func.func private @sums
func.func private @sums(%x: tensor<512x32x768xbf16>, %y: tensor<512x32x768xbf16>, %z: tensor<512x32x768xbf16>) -> (tensor<512x768xf32>, tensor<512x768xf32>, tensor<512x768xf32>) attributes {sinter.kernel = "rows"} {
  %0 = sinter.cast %x : (tensor<512x32x768xbf16>) -> tensor<512x32x768xf32>
  %1 = sinter.column_sum %0 : (tensor<512x32x768xf32>) -> tensor<512x768xf32>
  %2 = sinter.cast %y : (tensor<512x32x768xbf16>) -> tensor<512x32x768xf32>
  %3 = sinter.column_sum %2 : (tensor<512x32x768xf32>) -> tensor<512x768xf32>
  %4 = sinter.cast %z : (tensor<512x32x768xbf16>) -> tensor<512x32x768xf32>
  %5 = sinter.column_sum %4 : (tensor<512x32x768xf32>) -> tensor<512x768xf32>
  return %1, %3, %5 : tensor<512x768xf32>, tensor<512x768xf32>, tensor<512x768xf32>
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

// Exponentials of what was rounded to 16 bits may be approximate, those of what is added in f32 not.
// CHECK: func.func @narrow
// CHECK: math.exp %{{.*}} fastmath<afn>
// CHECK: arith.divf {{.*}} fastmath<afn>
// CHECK: func.func @wide
// CHECK: math.exp %{{[0-9]*}} : f32
// CHECK: arith.divf %{{.*}}, %{{[0-9]*}} : f32

// A row of sums of each, and none in the results' memory.
// CHECK: func.func @sums
// CHECK-COUNT-3: memref.alloca() {{.*}} : memref<768xf32>
// CHECK-NOT: memref.load %arg{{[345]}}

// A row is loaded once.
// CHECK: func.func @rms_norm
// CHECK: %[[ROW:.*]] = memref.alloca() {{.*}} : memref<64xf32>
// CHECK: memref.load %arg0
// CHECK: memref.store %{{.*}}, %[[ROW]]
// CHECK-NOT: memref.load %arg0
// CHECK: memref.load %[[ROW]]
