// RUN: sinter-opt %s --sinter-verify-precision --split-input-file --verify-diagnostics

func.func @half(%x: tensor<4x8xf16>, %w: tensor<8x16xf16>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  // expected-error @below {{expected operands of f32, bf16 or i8 after Precision}}
  %y = sinter.matmul %x, %w : (tensor<4x8xf16>, tensor<8x16xf16>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_80", features = "", vector_bits = 128,
    registers = 255, cores = 108, gflops_f32 = 1, gflops_bf16 = 1, memory_gbs = 1, launch_ns = 1, l1_bytes = 1,
    l2_bytes = 1, l3_bytes = 1>} {
  func.func @old(%x: tensor<4x8xf8E4M3FN>, %r: tensor<4x1xf32>, %w: tensor<16x8xf8E4M3FN>, %s: tensor<16x1xf32>)
      -> tensor<4x16xf32> attributes {sinter.entry} {
    // expected-error @below {{expected a GPU of compute capability 9.0 or later, which multiplies fp8, got sm_80}}
    %y = sinter.matmul %x, %w, %s rows %r {transpose_rhs}
      : (tensor<4x8xf8E4M3FN>, tensor<16x8xf8E4M3FN>, tensor<16x1xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
    return %y : tensor<4x16xf32>
  }
}

// -----

func.func @numbers(%x: tensor<4x8xf32>, %w: tensor<16x8xf8E5M2>, %s: tensor<16x1xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  // expected-error @below {{expected rows of fp8 where weights are f8E5M2 after Precision}}
  %y = sinter.matmul %x, %w, %s {transpose_rhs}
    : (tensor<4x8xf32>, tensor<16x8xf8E5M2>, tensor<16x1xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

func.func @narrow(%x: tensor<4x8xbf16>) -> tensor<4xbf16> attributes {sinter.entry} {
  // expected-error @below {{expected an f32 result after Precision}}
  %y = sinter.reduce sum %x : (tensor<4x8xbf16>) -> tensor<4xbf16>
  return %y : tensor<4xbf16>
}

// -----

func.func @narrow_logsumexp(%q: tensor<1x4x2x8xbf16>) -> tensor<1x4x2x8xf32> attributes {sinter.entry} {
  // expected-error @below {{expected an f32 result after Precision}}
  %y:2 = sinter.attention %q, %q, %q {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>) -> (tensor<1x4x2x8xf32>, tensor<1x4x2xbf16>)
  return %y#0 : tensor<1x4x2x8xf32>
}
