// RUN: sinter-opt %s --sinter-verify-cuda-codegen --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a kernel to say how it is launched (sinter.grid, sinter.block, sinter.shared) after Codegen}}
func.func private @unplanned(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.kernel = "rows", sinter.grid = 1 : i64} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected a block of 1 to 1024 threads, got 2048}}
func.func private @crowd(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 2048 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  return %x : tensor<4xf32>
}

// -----

module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "", vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 60000, gflops_bf16 = 800000, memory_gbs = 4800, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 52428800, l3_bytes = 0>} {
// expected-error @+1 {{expected a block to take at most 232448 bytes of shared memory, got 300000}}
func.func private @hungry(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 300000 : i64} {
  return %x : tensor<4xf32>
}
}

// -----

// expected-error @+1 {{expected @kernels to hold the kernel over one memref an operand, a result and its scratch}}
func.func private @missing(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  return %x : tensor<4xf32>
}

// -----

module {
module @kernels {
// expected-error @+1 {{expected a kernel to have either code or a template (sinter.template)}}
func.func private @empty(memref<4xf32>, memref<4xf32>)
}
func.func private @empty(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  return %x : tensor<4xf32>
}
}

// -----

module {
module @kernels {
func.func @whole(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{expected no loop that is yet to be spread over threads after Codegen}}
  scf.for %i = %c0 to %c1 step %c1 {
  } {sinter.lanes = 1 : i64}
  return
}
}
func.func private @whole(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  return %x : tensor<4xf32>
}
}
