// RUN: sinter-opt %s --sinter-lower-kernels --cse | FileCheck %s

// With 16 registers of 8 elements a tile is 6 rows of 16 columns, as wide as a panel. What is in no
// panels is copied to strips as wide.

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 256, gflops_bf16 = 256, memory_gbs = 70, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
#panels = #sinter.panels<width = 16, interleave = 1, depth = 16>
#pairs = #sinter.panels<width = 16, interleave = 2, depth = 32>

module attributes {sinter.target = #cpu} {

// The scratch would hold the rows in 2 blocks; for 2 cores 3 times 64 columns are cut into 9 items.
// CHECK-LABEL: func.func private @dense
// CHECK-SAME: sinter.grid = 9 : i64
func.func private @dense(%x: tensor<300x256xf32>, %w: tensor<256x192xf32>)
    -> tensor<300x192xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<300x256xf32>, tensor<256x192xf32>) -> tensor<300x192xf32>
  return %0 : tensor<300x192xf32>
}

func.func private @panels(%x: tensor<300x256xf32>, %w: tensor<256x72xf32, #panels>)
    -> tensor<300x72xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<300x256xf32>, tensor<256x72xf32, #panels>) -> tensor<300x72xf32>
  return %0 : tensor<300x72xf32>
}

func.func private @pairs(%x: tensor<300x256xbf16>, %w: tensor<256x64xbf16, #pairs>)
    -> tensor<300x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<300x256xbf16>, tensor<256x64xbf16, #pairs>) -> tensor<300x64xf32>
  return %0 : tensor<300x64xf32>
}

func.func private @few(%x: tensor<6x256xf32>, %w: tensor<256x72xf32, #panels>)
    -> tensor<6x72xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<6x256xf32>, tensor<256x72xf32, #panels>) -> tensor<6x72xf32>
  return %0 : tensor<6x72xf32>
}

// Elements along k are 4 KiB apart: 11 blocks of 96 rows times 12 of 64 columns, 3 of which share a
// copy of the rows.
// CHECK-LABEL: func.func private @gradient
// CHECK-SAME: sinter.grid = 44 : i64
func.func private @gradient(%x: tensor<1024x1024xf32>, %g: tensor<1024x768xf32, #panels>)
    -> tensor<1024x768xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %g {transpose_lhs} : (tensor<1024x1024xf32>, tensor<1024x768xf32, #panels>) -> tensor<1024x768xf32>
  return %0 : tensor<1024x768xf32>
}

// 3 KiB apart they are read where they are.
// CHECK-LABEL: func.func private @gradient_in_place
// CHECK-SAME: sinter.grid = 60 : i64
func.func private @gradient_in_place(%x: tensor<1024x768xf32>, %g: tensor<1024x768xf32, #panels>)
    -> tensor<768x768xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %g {transpose_lhs} : (tensor<1024x768xf32>, tensor<1024x768xf32, #panels>) -> tensor<768x768xf32>
  return %0 : tensor<768x768xf32>
}

// CHECK: module @kernels

// Blocks of 128 of k in strips of 16 columns: the second strip begins 2048 elements on.
// CHECK-LABEL: func.func @dense
// CHECK: %[[STRIPS:.*]] = memref.alloca() {{.*}} : memref<8192xf32>
// CHECK: memref.prefetch
// CHECK: %[[STEP:.*]] = arith.muli {{.*}}, %c16 : index
// CHECK: vector.store {{.*}}, %[[STRIPS]][%[[STEP]]]
// CHECK: %[[SECOND:.*]] = arith.addi %[[STEP]], %c2048 : index
// CHECK: vector.store {{.*}}, %[[STRIPS]][%[[SECOND]]]
// CHECK-COUNT-12: math.fma

// Panels are read where they are: 5 of 256 x 16 elements, of which the second item has one. Each tile
// of rows prefetches some lines of the columns that follow, the next tile's rows, and what the
// epilogue will write.
// CHECK-LABEL: func.func @panels
// CHECK: memref.prefetch %arg1
// CHECK: memref.prefetch %arg2[%{{.*}}], write
// CHECK: memref.prefetch %arg0[%{{.*}}], read
// CHECK: arith.minsi %{{.*}}, %c4 : index
// CHECK: arith.muli %{{.*}}, %c4096 : index
// CHECK-LABEL: func.func @pairs
// CHECK-NOT: memref.alloca() {{.*}} : memref<8192xf32>
// CHECK: memref.prefetch %arg1

// One tile of rows reads panels once: no lines are asked for.
// CHECK-LABEL: func.func @few
// CHECK-NOT: memref.prefetch
// CHECK-LABEL: func.func @gradient

// The scratch has 96 rows of three blocks of columns; rows are copied once for them, a block of k at
// a time, and the lines of the next block are asked for.
// CHECK: memref.alloca() {{.*}} : memref<18432xf32>
// CHECK: %[[ROWS:.*]] = memref.alloca() {{.*}} : memref<9984xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c96 step %c1
// CHECK: vector.store {{.*}}, %[[ROWS]]
// CHECK: scf.for
// CHECK: memref.prefetch %arg0
// CHECK: memref.prefetch %arg1
// CHECK: math.fma
// The scratch of sums is the only one.
// CHECK-LABEL: func.func @gradient_in_place
// CHECK: memref.alloca() {{.*}} : memref<9984xf32>
// CHECK-NOT: memref.alloca
// CHECK: memref.prefetch %arg1
// CHECK: memref.load %arg0
// CHECK: math.fma
}
