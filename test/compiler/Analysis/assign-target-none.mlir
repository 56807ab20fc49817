// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v3 | FileCheck %s

// A target that is there already is replaced, and nothing else changes.

// CHECK-NOT: znver4
// CHECK: chip = "x86-64-v3"
// CHECK: func.func @entry(%arg0: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %arg0
module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "znver4", features = "",
    vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192,
    memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 0>} {
  func.func @entry(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
