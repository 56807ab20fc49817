// RUN: sinter-opt %s --sinter-lower-kernels --cse | FileCheck %s

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "+avx512f,+avx512bf16", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 192, gflops_bf16 = 384, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
#panels = #sinter.panels<width = 64, interleave = 1, depth = 16>
#narrow = #sinter.panels<width = 32, interleave = 1, depth = 16>
#pairs = #sinter.panels<width = 64, interleave = 2, depth = 32>

module attributes {sinter.target = #cpu} {

// One row: two copies of four accumulators take turns, and the panel is asked for ahead.
// CHECK-LABEL: func.func private @one_row
// CHECK-SAME: sinter.grid = 2 : i64
func.func private @one_row(%x: tensor<1x48xf32>, %w: tensor<48x100xf32, #panels>)
    -> tensor<1x100xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<1x48xf32>, tensor<48x100xf32, #panels>) -> tensor<1x100xf32>
  return %0 : tensor<1x100xf32>
}

// Six rows against a panel: 24 accumulators, two steps of k a turn. 24 rows are four such tiles.
// CHECK-LABEL: func.func private @many_rows
// CHECK-SAME: sinter.grid = 1 : i64
func.func private @many_rows(%x: tensor<24x48xf32>, %w: tensor<48x64xf32, #panels>)
    -> tensor<24x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<24x48xf32>, tensor<48x64xf32, #panels>) -> tensor<24x64xf32>
  %1 = sinter.relu %0 : (tensor<24x64xf32>) -> tensor<24x64xf32>
  return %1 : tensor<24x64xf32>
}

// Tiles of six rows, and one of two, pass over each block of 64 of k of two panels of 32 columns.
// CHECK-LABEL: func.func private @strips_first
// CHECK-SAME: sinter.grid = 1 : i64
func.func private @strips_first(%x: tensor<140x192xf32>, %w: tensor<192x64xf32, #narrow>)
    -> tensor<140x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<140x192xf32>, tensor<192x64xf32, #narrow>) -> tensor<140x64xf32>
  return %0 : tensor<140x64xf32>
}

// CHECK-LABEL: func.func private @pairs
func.func private @pairs(%x: tensor<1x48xbf16>, %w: tensor<48x64xbf16, #pairs>)
    -> tensor<1x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<1x48xbf16>, tensor<48x64xbf16, #pairs>) -> tensor<1x64xf32>
  return %0 : tensor<1x64xf32>
}

// CHECK: module @kernels

// CHECK-LABEL: func.func @one_row
// CHECK: scf.for
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK: math.fma
// The last panel has 36 columns.
// CHECK: vector.maskedstore

// CHECK-LABEL: func.func @many_rows
// CHECK-NOT: memref.prefetch
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-48: math.fma
// CHECK-NOT: math.fma
// The epilogue works on whole vectors, from the scratch to the result.
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK: vector.store

// The first block's sums begin with nothing, those of the others with the scratch. A step of a tile
// prefetches a line of the next block of each panel.
// CHECK-LABEL: func.func @strips_first
// CHECK: memref.alloca() {{.*}} : memref<9216xf32>
// CHECK: scf.for {{.*}} step %c6
// CHECK: scf.for {{.*}} = %c0 to %c64{{.*}} step %c2 iter_args(%{{.*}} = %cst, %{{.*}} = %cst
// CHECK-COUNT-2: memref.prefetch {{.*}}, read
// CHECK: math.fma
// CHECK: scf.for %[[K:.*]] = %c64{{.*}} to %c128{{.*}} step %c64
// CHECK-NEXT: %[[END:.*]] = arith.addi %[[K]], %c64
// CHECK: scf.for {{.*}} step %c6
// CHECK: %[[SUM:.*]] = vector.load
// CHECK: scf.for {{.*}} = %[[K]] to %[[END]] step %c2 iter_args(%{{.*}} = %[[SUM]]
// CHECK-COUNT-2: memref.prefetch {{.*}}, read
// CHECK: math.fma

// CHECK-LABEL: func.func @pairs
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
}
