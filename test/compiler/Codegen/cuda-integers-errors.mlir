// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels -verify-diagnostics

// expected-error @below {{expected one product of plain matrices and a chain of post-ops}}
func.func private @columns(%x: tensor<4x32xf32>, %w: tensor<32x16xi8>, %s: tensor<1x16xf32>)
    -> tensor<4x16xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s : (tensor<4x32xf32>, tensor<32x16xi8>, tensor<1x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// expected-error @below {{expected one product of plain matrices and a chain of post-ops}}
func.func private @scales_of_blocks(%x: tensor<4x32xf32>, %w: tensor<16x32xi8>, %s: tensor<8x1xf32>)
    -> tensor<4x16xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<4x32xf32>, tensor<16x32xi8>, tensor<8x1xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// expected-error @below {{expected one product of plain matrices and a chain of post-ops}}
func.func private @halves_in_bytes(%x: tensor<64x32xf32>, %w: tensor<16x32xi4>, %s: tensor<16x1xf32>)
    -> tensor<64x16xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<64x32xf32>, tensor<16x32xi4>, tensor<16x1xf32>) -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}

// -----

// expected-error @below {{expected one product of plain matrices and a chain of post-ops}}
func.func private @narrow_minima(%x: tensor<4x32xf32>, %w: tensor<16x32xi8>, %s: tensor<16x1xf16>, %m: tensor<16x1xf16>)
    -> tensor<4x16xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s minima %m {transpose_rhs} : (tensor<4x32xf32>, tensor<16x32xi8>, tensor<16x1xf16>, tensor<16x1xf16>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// expected-error @below {{expected one product of plain matrices and a chain of post-ops}}
func.func private @narrow_scales_of_bytes(%x: tensor<4x32xi8>, %w: tensor<16x32xi8>, %s: tensor<16x1xf16>, %r: tensor<4x1xf32>)
    -> tensor<4x16xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s rows %r {transpose_rhs} : (tensor<4x32xi8>, tensor<16x32xi8>, tensor<16x1xf16>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func private @bytes(%w: tensor<16x32xi8>) -> tensor<16x32xi8, #sinter.panels<width = 32, interleave = 1, depth = 1>>
    attributes {sinter.kernel = "pack_integers"} {
  // expected-error @below {{expected rows of integers of four bits, to be packed into one panel}}
  %0 = sinter.pack %w : (tensor<16x32xi8>) -> tensor<16x32xi8, #sinter.panels<width = 32, interleave = 1, depth = 1>>
  return %0 : tensor<16x32xi8, #sinter.panels<width = 32, interleave = 1, depth = 1>>
}

// -----

func.func private @processors_panels(%w: tensor<64x32xi4>) -> tensor<64x32xi4, #sinter.panels<width = 32, interleave = 4, depth = 32>>
    attributes {sinter.kernel = "pack_integers"} {
  // expected-error @below {{expected rows of integers of four bits, to be packed into one panel}}
  %0 = sinter.pack %w : (tensor<64x32xi4>) -> tensor<64x32xi4, #sinter.panels<width = 32, interleave = 4, depth = 32>>
  return %0 : tensor<64x32xi4, #sinter.panels<width = 32, interleave = 4, depth = 32>>
}

// -----

// expected-error @below {{expected a pack to be a kernel of its own}}
func.func private @fused(%w: tensor<32x16xi4>) -> tensor<16x32xi4, #sinter.panels<width = 32, interleave = 1, depth = 1>>
    attributes {sinter.kernel = "pack_integers"} {
  %0 = sinter.transpose %w {permutation = array<i64: 1, 0>} : (tensor<32x16xi4>) -> tensor<16x32xi4>
  %1 = sinter.pack %0 : (tensor<16x32xi4>) -> tensor<16x32xi4, #sinter.panels<width = 32, interleave = 1, depth = 1>>
  return %1 : tensor<16x32xi4, #sinter.panels<width = 32, interleave = 1, depth = 1>>
}
