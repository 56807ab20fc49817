// RUN: sinter-opt %s --sinter-lower-kernels --split-input-file --verify-diagnostics

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
module attributes {sinter.target = #cpu} {
func.func private @unknown_family(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "columns"} { // expected-error {{expected a family of kernels as sinter.kernel, got "columns"}}
  return %x : tensor<8xf32>
}
}

// -----

// What is a command of its own has no code.
#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
module attributes {sinter.target = #cpu} {
// expected-error @+1 {{expected a family of kernels that there is code for, got pack}}
func.func private @pack(%x: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {sinter.kernel = "pack"} {
  return %x : tensor<8x4xf32>
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

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
module attributes {sinter.target = #cpu} {
func.func private @matmul(%x: tensor<8x4xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> attributes {sinter.kernel = "rows"} {
  // expected-error @+1 {{expected an op that a rows kernel can compute}}
  %0 = sinter.matmul %x, %y : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
}

// -----

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
module attributes {sinter.target = #cpu} {
func.func private @table(%x: tensor<2xf32>) -> tensor<2xf32> attributes {sinter.kernel = "rows"} {
  // expected-error @+1 {{expected a constant of one value in a rows kernel}}
  %0 = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = sinter.add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
}

// -----

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
module attributes {sinter.target = #cpu} {
func.func private @append_used(%c: tensor<1x4x1x2xf32>, %r: tensor<1x1x1x2xf32>, %i: tensor<1xi32>) -> tensor<1x4x1x2xf32> attributes {sinter.kernel = "rows"} {
  // expected-error @+1 {{expected no use of this op's result inside a rows kernel}}
  %0 = sinter.cache_append %c, %r, %i, %i : (tensor<1x4x1x2xf32>, tensor<1x1x1x2xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x4x1x2xf32>
  %1 = sinter.relu %0 : (tensor<1x4x1x2xf32>) -> tensor<1x4x1x2xf32>
  return %1 : tensor<1x4x1x2xf32>
}
}

// -----

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
module attributes {sinter.target = #cpu} {
func.func private @used_sum(%x: tensor<4x8xf32>) -> tensor<8xf32> attributes {sinter.kernel = "rows"} {
  // expected-error @+1 {{expected no use of this op's result inside a rows kernel}}
  %0 = sinter.column_sum %x : (tensor<4x8xf32>) -> tensor<8xf32>
  %1 = sinter.neg %0 : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
}

// -----

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192, gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>
module attributes {sinter.target = #cpu} {
// expected-error @+1 {{expected an embedding_grad to be alone in its kernel}}
func.func private @scatter(%i: tensor<4xi32>, %g: tensor<4x8xf32>) -> tensor<9x8xf32> attributes {sinter.kernel = "scatter"} {
  %0 = sinter.neg %g : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.embedding_grad %i, %0 {rows = 9 : i64} : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  return %1 : tensor<9x8xf32>
}
}
