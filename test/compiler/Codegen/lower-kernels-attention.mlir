// RUN: sinter-opt %s --sinter-lower-kernels --cse | FileCheck %s

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "+avx512f,+avx512bf16", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 192, gflops_bf16 = 384, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
#keys = #sinter.key_panels<width = 16, interleave = 1>
#pairs = #sinter.key_panels<width = 16, interleave = 2>
#values = #sinter.head_major

module attributes {sinter.target = #cpu} {

// Two slots, two key-value heads; the three query heads of each are rows of one tile.
// CHECK-LABEL: func.func private @decode
// CHECK-SAME: sinter.grid = 4 : i64
func.func private @decode(%q: tensor<2x1x6x64xf32>, %k: tensor<2x512x2x64xf32, #keys>,
                          %v: tensor<2x512x2x64xf32, #values>, %s: tensor<2xi32>)
    -> tensor<2x1x6x64xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %k, %v, %s
    {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>}
    : (tensor<2x1x6x64xf32>, tensor<2x512x2x64xf32, #keys>, tensor<2x512x2x64xf32, #values>,
       tensor<2xi32>) -> tensor<2x1x6x64xf32>
  return %0 : tensor<2x1x6x64xf32>
}

// 512 rows in 11 blocks of 48 for each of 12 heads.
// CHECK-LABEL: func.func private @prefill
// CHECK-SAME: sinter.grid = 132 : i64
func.func private @prefill(%q: tensor<1x512x12x64xf32>, %k: tensor<1x512x12x64xbf16, #pairs>,
                           %v: tensor<1x512x12x64xbf16, #values>)
    -> tensor<1x512x12x64xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %k, %v
    {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
    : (tensor<1x512x12x64xf32>, tensor<1x512x12x64xbf16, #pairs>,
       tensor<1x512x12x64xbf16, #values>) -> tensor<1x512x12x64xf32>
  return %0 : tensor<1x512x12x64xf32>
}

// CHECK: module @kernels

// Nothing of the size of all scores: 64 keys of three rows.
// CHECK-LABEL: func.func @decode
// CHECK: memref.alloca() {{.*}} : memref<192xf32>
// The slot's length decides how far the loop over keys goes.
// CHECK: memref.load {{.*}} : memref<2xi32>
// CHECK: memref.prefetch
// CHECK: math.fma
// The scores are in units of log 2.
// CHECK: math.exp2
// CHECK-NOT: math.exp{{ }}

// CHECK-LABEL: func.func @prefill
// CHECK: memref.alloca() {{.*}} : memref<3072xbf16>
// CHECK: scf.if
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK: vector.interleave
// CHECK-NOT: memref.prefetch
}
