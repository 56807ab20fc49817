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

func.func private @panels(%x: tensor<300x128xf32>, %w: tensor<128x72xf32, #panels>)
    -> tensor<300x72xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<300x128xf32>, tensor<128x72xf32, #panels>) -> tensor<300x72xf32>
  return %0 : tensor<300x72xf32>
}

func.func private @long_panels(%x: tensor<300x256xf32>, %w: tensor<256x72xf32, #panels>)
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

// Elements along k are lines apart: 8 blocks of 96 rows times 24 of 64 columns, 3 of which share a
// copy of the rows.
// CHECK-LABEL: func.func private @gradient
// CHECK-SAME: sinter.grid = 64 : i64
func.func private @gradient(%x: tensor<1024x768xf32>, %g: tensor<1024x1536xf32, #panels>)
    -> tensor<768x1536xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %g {transpose_lhs} : (tensor<1024x768xf32>, tensor<1024x1536xf32, #panels>) -> tensor<768x1536xf32>
  return %0 : tensor<768x1536xf32>
}

// Rows that the L2 cache holds are read where they are.
func.func private @gradient_in_place(%x: tensor<128x768xf32>, %g: tensor<128x768xf32, #panels>)
    -> tensor<768x768xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %g {transpose_lhs} : (tensor<128x768xf32>, tensor<128x768xf32, #panels>) -> tensor<768x768xf32>
  return %0 : tensor<768x768xf32>
}

// CHECK: module @kernels

// Blocks of 128 of k in strips of 16 columns: the second strip begins 2048 elements on. Each tile
// of rows prefetches some of the next block.
// CHECK-LABEL: func.func @dense
// CHECK: %[[STRIPS:.*]] = memref.alloca() {{.*}} : memref<8192xf32>
// CHECK: %[[STEP:.*]] = arith.muli {{.*}}, %c16 : index
// CHECK: vector.store {{.*}}, %[[STRIPS]][%[[STEP]]]
// CHECK: %[[SECOND:.*]] = arith.addi %[[STEP]], %c2048 : index
// CHECK: vector.store {{.*}}, %[[STRIPS]][%[[SECOND]]]
// CHECK: memref.prefetch %arg1
// CHECK-COUNT-12: math.fma

// Panels are read where they are: 5 of 128 x 16 elements, of which the second item has one. Each
// tile of rows prefetches what the epilogue will write, some lines of the columns that follow, and
// the next tile's rows.
// CHECK-LABEL: func.func @panels
// CHECK: memref.prefetch %arg2[%{{.*}}], write
// CHECK: memref.prefetch %arg1
// CHECK: memref.prefetch %arg0[%{{.*}}], read
// CHECK: arith.minsi %{{.*}}, %c4 : index
// CHECK: arith.muli %{{.*}}, %c2048 : index
// Of longer panels and rows the processor sees the streams itself.
// CHECK-LABEL: func.func @long_panels
// CHECK-NOT: memref.prefetch %arg{{[01]}}
// CHECK-LABEL: func.func @pairs
// CHECK-NOT: memref.alloca() {{.*}} : memref<8192xf32>
// CHECK: memref.prefetch %arg1

// One tile of rows reads panels once: no lines are asked for.
// CHECK-LABEL: func.func @few
// CHECK-NOT: memref.prefetch
// CHECK-LABEL: func.func @gradient

// The scratch has 96 rows of three blocks of columns; rows are copied once for them, 256 of k at a
// time, as 16 tiles of 6 rows, of which the second begins a vector behind the first one's end. All
// tiles are multiplied by the block of one strip, then by that of the next. Items of the same columns
// follow one another: there is less of the rows to read again.
// CHECK: %[[SUMS:.*]] = memref.alloca() {{.*}} : memref<18432xf32>
// CHECK: %[[ROWS:.*]] = memref.alloca() {{.*}} : memref<24704xf32>
// CHECK: scf.for %[[ITEM:.*]] = %arg3 to %arg4
// CHECK-DAG: %[[BLOCK:.*]] = arith.remui %[[ITEM]], %c8 : index
// CHECK-DAG: arith.muli %[[BLOCK]], %c96 : index
// CHECK: scf.for %[[K:.*]] = %c0 to %c256 step %c1
// CHECK: %[[AT:.*]] = arith.muli %[[K]], %c6 : index
// CHECK: vector.store {{.*}}, %[[ROWS]][%[[AT]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[AT]], %c1544 : index
// CHECK: vector.store {{.*}}, %[[ROWS]][%[[NEXT]]]
// CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1
// CHECK: scf.for %{{.*}} to %{{.*}} step %c6
// CHECK-NOT: memref.prefetch
// CHECK: memref.load %[[ROWS]]
// CHECK-COUNT-12: math.fma
// The scratch of sums is the only one.
// CHECK-LABEL: func.func @gradient_in_place
// CHECK: memref.alloca() {{.*}}
// CHECK-NOT: memref.alloca
// CHECK: memref.load %arg0
// CHECK: math.fma
}
