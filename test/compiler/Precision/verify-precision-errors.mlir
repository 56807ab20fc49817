// RUN: sinter-opt %s --sinter-verify-precision --split-input-file --verify-diagnostics

func.func @dense(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  // expected-error @below {{expected a right-hand side in panels, not transposed, or an f32 state as it is, after Precision}}
  %y = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

#panels = #sinter.panels<width = 64, interleave = 2, depth = 32>
func.func @half(%x: tensor<4x8xf16>, %w: tensor<8x16xf16, #panels>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  // expected-error @below {{expected operands of f32 or bf16 after Precision}}
  %y = sinter.matmul %x, %w : (tensor<4x8xf16>, tensor<8x16xf16, #panels>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

#panels = #sinter.panels<width = 64, interleave = 2, depth = 32>
func.func @dense_gradient(%x: tensor<4x8xbf16>, %g: tensor<4x16xbf16, #panels>) -> tensor<8x16xf32>
    attributes {sinter.entry} {
  // expected-error @below {{expected a transposed left-hand side of bf16 in panels after Precision}}
  %y = sinter.matmul %x, %g {transpose_lhs} : (tensor<4x8xbf16>, tensor<4x16xbf16, #panels>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
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
  %y:2 = sinter.attention %q, %q, %q {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>) -> (tensor<1x4x2x8xf32>, tensor<1x4x2xbf16>)
  return %y#0 : tensor<1x4x2x8xf32>
}
