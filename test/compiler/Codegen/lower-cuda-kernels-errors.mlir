// RUN: sinter-opt %s --sinter-lower-cuda-kernels --split-input-file --verify-diagnostics

module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "", vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 60000, gflops_bf16 = 800000, memory_gbs = 4800, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 52428800, l3_bytes = 0>} {
// expected-error @+1 {{expected a family of kernels as sinter.kernel, got "columns"}}
func.func private @unknown_family(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "columns"} {
  return %x : tensor<8xf32>
}
}

// -----

// expected-error @+1 {{expected a module with a target (sinter.target)}}
module {
func.func private @no_target(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "rows"} {
  return %x : tensor<8xf32>
}
}

// -----

module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "", vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 60000, gflops_bf16 = 800000, memory_gbs = 4800, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 52428800, l3_bytes = 0>} {
// expected-error @+1 {{expected a family of kernels that there is code for, got pack}}
func.func private @pack(%x: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {sinter.kernel = "pack"} {
  return %x : tensor<8x4xf32>
}
}

// -----

module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "", vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 60000, gflops_bf16 = 800000, memory_gbs = 4800, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 52428800, l3_bytes = 0>} {
func.func private @matmul(%x: tensor<8x4xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> attributes {sinter.kernel = "rows"} {
  // expected-error @+1 {{expected an op that a rows kernel can compute}}
  %0 = sinter.matmul %x, %y : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
}
