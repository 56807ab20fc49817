// RUN: sinter-opt %s --sinter-lower-kernels --split-input-file --verify-diagnostics

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "+avx512f", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
#panels = #sinter.panels<width = 64, interleave = 1, depth = 16>
module attributes {sinter.target = #cpu} {
func.func private @reduction(%x: tensor<4x16xf32>, %w: tensor<16x64xf32, #panels>)
    -> tensor<4xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<4x16xf32>, tensor<16x64xf32, #panels>) -> tensor<4x64xf32>
  // expected-error @+1 {{expected an elementwise, broadcast, reshape, slice or constant op on floating-point numbers in a GEMM's epilogue}}
  %1 = sinter.reduce sum %0 : (tensor<4x64xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
}

// -----

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "+avx512f", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
#panels = #sinter.panels<width = 48, interleave = 1, depth = 16>
module attributes {sinter.target = #cpu} {
func.func private @panels(%x: tensor<4x16xf32>, %w: tensor<16x64xf32, #panels>)
    -> tensor<4x64xf32> attributes {sinter.kernel = "gemm"} {
  // expected-error @+1 {{expected rhs [k, n] in panels of whole vectors, several of which are 64 columns, with interleave 1}}
  %0 = sinter.matmul %x, %w : (tensor<4x16xf32>, tensor<16x64xf32, #panels>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
}

// -----

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "+avx512f", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
module attributes {sinter.target = #cpu} {
func.func private @width(%q: tensor<1x1x1x1025xf32>) -> tensor<1x1x1x1025xf32>
    attributes {sinter.kernel = "attention"} {
  // expected-error @+1 {{expected heads of 1024 elements at the most, got 1025}}
  %0 = sinter.attention %q, %q, %q
    {scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
    : (tensor<1x1x1x1025xf32>, tensor<1x1x1x1025xf32>, tensor<1x1x1x1025xf32>) -> tensor<1x1x1x1025xf32>
  return %0 : tensor<1x1x1x1025xf32>
}
}
