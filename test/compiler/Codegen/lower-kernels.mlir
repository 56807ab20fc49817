// RUN: sinter-opt %s --sinter-lower-kernels | FileCheck %s

module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3",
    features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192,
    gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576,
    l3_bytes = 16777216>} {

// CHECK-LABEL: func.func private @elementwise(
// CHECK-SAME: sinter.grid = 4
func.func private @elementwise(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK: func.func private @rms_norm
// CHECK-SAME: sinter.grid = 8
func.func private @rms_norm(%x: tensor<2x4x768xbf16>, %w: tensor<768xf32>) -> tensor<2x4x768xbf16>
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (tensor<2x4x768xbf16>, tensor<768xf32>) -> tensor<2x4x768xbf16>
  return %0 : tensor<2x4x768xbf16>
}

// CHECK: func.func private @softmax
func.func private @softmax(%x: tensor<3x40xf32>) -> tensor<3x40xf32>
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.reduce max %x : (tensor<3x40xf32>) -> tensor<3xf32>
  %1 = sinter.broadcast %0 {dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<3x40xf32>
  %2 = sinter.sub %x, %1 : (tensor<3x40xf32>, tensor<3x40xf32>) -> tensor<3x40xf32>
  %3 = sinter.exp %2 : (tensor<3x40xf32>) -> tensor<3x40xf32>
  %4 = sinter.reduce sum %3 : (tensor<3x40xf32>) -> tensor<3xf32>
  %5 = sinter.broadcast %4 {dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<3x40xf32>
  %6 = sinter.div %3, %5 : (tensor<3x40xf32>, tensor<3x40xf32>) -> tensor<3x40xf32>
  return %6 : tensor<3x40xf32>
}

// CHECK: func.func private @append
// CHECK-SAME: sinter.grid = 16
func.func private @append(%qk: tensor<2x4x256xf32>, %cos: tensor<99x32xf32>, %sin: tensor<99x32xf32>,
    %start: tensor<2xi32>, %count: tensor<2xi32>, %cache: tensor<2x32x2x64xf32, #sinter.head_major>)
    -> tensor<2x32x2x64xf32, #sinter.head_major> attributes {sinter.kernel = "rows"} {
  %0 = sinter.slice %qk {offsets = array<i64: 0, 0, 128>} : (tensor<2x4x256xf32>) -> tensor<2x4x128xf32>
  %1 = sinter.reshape %0 : (tensor<2x4x128xf32>) -> tensor<2x4x2x64xf32>
  %2 = sinter.rotary %1, %cos, %sin, %start : (tensor<2x4x2x64xf32>, tensor<99x32xf32>, tensor<99x32xf32>, tensor<2xi32>) -> tensor<2x4x2x64xf32>
  %3 = sinter.cache_append %cache, %2, %start, %count : (tensor<2x32x2x64xf32, #sinter.head_major>, tensor<2x4x2x64xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x32x2x64xf32, #sinter.head_major>
  return %3 : tensor<2x32x2x64xf32, #sinter.head_major>
}

// CHECK: func.func private @norm_grad
// CHECK-SAME: sinter.grid = 4
func.func private @norm_grad(%x: tensor<2x6x40xf32>, %w: tensor<40xf32>, %g: tensor<2x6x40xf32>)
    -> (tensor<2x6x40xf32>, tensor<4x40xf32>) attributes {sinter.kernel = "rows"} {
  %0:2 = sinter.rms_norm_grad %x, %w, %g {eps = 1.0e-5} : (tensor<2x6x40xf32>, tensor<40xf32>, tensor<2x6x40xf32>) -> (tensor<2x6x40xf32>, tensor<4x40xf32>)
  return %0#0, %0#1 : tensor<2x6x40xf32>, tensor<4x40xf32>
}

// CHECK: func.func private @column_sum
// CHECK-SAME: sinter.grid = 12
func.func private @column_sum(%x: tensor<9x768xf32>) -> tensor<768xf32>
    attributes {sinter.kernel = "rows"} {
  %0 = sinter.column_sum %x : (tensor<9x768xf32>) -> tensor<768xf32>
  return %0 : tensor<768xf32>
}

func.func private @sum_parts(%x: tensor<3x64xbf16>) -> tensor<64xbf16> attributes {sinter.kernel = "rows"} {
  %0 = sinter.sum_parts %x : (tensor<3x64xbf16>) -> tensor<64xbf16>
  return %0 : tensor<64xbf16>
}
}

// CHECK-LABEL: module @kernels
// The result may be put over the operand: no llvm.noalias.
// CHECK: func.func @elementwise(%[[X:.*]]: memref<32xf32>, %[[Y:.*]]: memref<32xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK: scf.for %[[ITEM:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c8{{.*}}
// CHECK: %[[AT:.*]] = affine.apply #{{.*}}(%[[ITEM]], %[[I]])
// CHECK: memref.load %[[X]][%[[AT]]]
// CHECK: arith.maximumf
// CHECK: memref.store %{{.*}}, %[[Y]]

// Two passes over the row; what does not change along it stays outside the loops.
// CHECK: func.func @rms_norm
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args
// CHECK: arith.extf
// CHECK: arith.divf %[[SUM]]
// CHECK: math.sqrt
// CHECK: scf.for
// CHECK: arith.truncf {{.*}} : f32 to bf16
// CHECK-NOT: math.sqrt
// CHECK: return

// The exponentials are computed once, into a buffer.
// CHECK: func.func @softmax
// CHECK: %[[BUFFER:.*]] = memref.alloca() {alignment = 64 : i64} : memref<40xf32>
// CHECK: math.exp
// CHECK: memref.store %{{.*}}, %[[BUFFER]]
// CHECK: scf.for
// CHECK-NOT: math.exp
// CHECK: memref.load %[[BUFFER]]
// CHECK: arith.divf

// The cache is written in place, valid rows only; the rotation is cut in halves.
// CHECK: func.func @append({{.*}} %[[CACHE:.*]]: memref<8192xf32>, %[[OUT:.*]]: memref<8192xf32>,
// CHECK: %[[FITS:.*]] = arith.cmpi ult
// CHECK: arith.andi
// CHECK: scf.if
// CHECK: scf.for {{.*}} to %c32
// CHECK: arith.subf
// CHECK: memref.store %{{.*}}, %[[OUT]]
// CHECK: scf.for %{{.*}} = %c32{{.*}} to %c64
// CHECK: arith.addf
// CHECK-NOT: memref.load %[[CACHE]]
// CHECK: return

// A block's sums begin as zeros; its rows are stored and added to them by one loop.
// CHECK: func.func @norm_grad(%[[X:.*]]: memref<480xf32> {{.*}}, %{{.*}}: memref<40xf32> {{.*}}, %{{.*}}: memref<480xf32> {{.*}}, %[[DX:.*]]: memref<480xf32> {{.*}}, %[[DW:.*]]: memref<160xf32>
// CHECK: scf.for %[[BLOCK:.*]] = %{{.*}} to %{{.*}}
// CHECK: scf.for {{.*}} to %c40
// CHECK: memref.store %cst{{.*}}, %[[DW]]
// CHECK: scf.for {{.*}} to %c3{{ |_}}
// CHECK: iter_args
// CHECK: iter_args
// CHECK: scf.for {{.*}} to %c40
// CHECK: memref.store %{{.*}}, %[[DX]]
// CHECK: %[[SUM:.*]] = memref.load %[[DW]]
// CHECK: arith.addf %[[SUM]]
// CHECK: memref.store %{{.*}}, %[[DW]]
// CHECK: return

// Work items are columns.
// CHECK: func.func @column_sum(%[[X:.*]]: memref<6912xf32> {{.*}}, %[[Y:.*]]: memref<768xf32>
// CHECK: scf.for {{.*}} to %c9
// CHECK: scf.for {{.*}} to %c64
// CHECK: memref.load %[[X]]
// CHECK: memref.load %[[Y]]
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK: return

// An element of each part, added in f32 and rounded once.
// CHECK: func.func @sum_parts(%[[X:.*]]: memref<192xbf16> {{.*}}, %[[Y:.*]]: memref<64xbf16>
// CHECK: scf.for {{.*}} to %c64
// CHECK: memref.load %[[X]]
// CHECK: %[[A:.*]] = arith.extf
// CHECK: memref.load %[[X]]
// CHECK: %[[B:.*]] = arith.extf
// CHECK: memref.load %[[X]]
// CHECK: %[[C:.*]] = arith.extf
// CHECK: %[[AB:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK: %[[ABC:.*]] = arith.addf %[[AB]], %[[C]] : f32
// CHECK: %[[SUM:.*]] = arith.truncf %[[ABC]] : f32 to bf16
// CHECK: memref.store %[[SUM]], %[[Y]]
// CHECK: return
