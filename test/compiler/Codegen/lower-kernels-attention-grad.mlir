// RUN: sinter-opt %s --sinter-lower-kernels --cse | FileCheck %s

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "+avx512f", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>

module attributes {sinter.target = #cpu} {

// An item is a slot and a key-value head; its two query heads are rows of one matrix.
// CHECK-LABEL: func.func private @gradients
// CHECK-SAME: sinter.grid = 6 : i64
func.func private @gradients(%q: tensor<2x512x6x64xf32>, %k: tensor<2x512x3x64xf32>,
                             %l: tensor<2x512x6xf32>, %f: tensor<2x512xi32>)
    -> (tensor<2x512x6x64xf32>, tensor<2x512x3x64xf32>, tensor<2x512x3x64xf32>)
    attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %k, %k, %q, %l, %l, %f
    {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 1, 0, 0>}
    : (tensor<2x512x6x64xf32>, tensor<2x512x3x64xf32>, tensor<2x512x3x64xf32>,
       tensor<2x512x6x64xf32>, tensor<2x512x6xf32>, tensor<2x512x6xf32>, tensor<2x512xi32>)
    -> (tensor<2x512x6x64xf32>, tensor<2x512x3x64xf32>, tensor<2x512x3x64xf32>)
  return %0#0, %0#1, %0#2
      : tensor<2x512x6x64xf32>, tensor<2x512x3x64xf32>, tensor<2x512x3x64xf32>
}

// CHECK: module @kernels
// CHECK-LABEL: func.func @gradients
// Scores of 64 keys and 64 rows at a time, whatever the length.
// CHECK-NOT: memref.alloca() {{.*}} : memref<{{[0-9][0-9][0-9][0-9][0-9]+}}x
// CHECK: memref.alloca() {{.*}} : memref<4096xf32>
// CHECK: vector.shuffle
// The mask decides which blocks and tiles exist.
// CHECK: memref.load {{.*}} : memref<1024xi32>
// CHECK: scf.if
// CHECK: math.fma
// CHECK: } else {
// CHECK-NOT: math.exp
}
