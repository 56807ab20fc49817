// RUN: sinter-opt %s --sinter-verify-precision --split-input-file --verify-diagnostics

func.func @half(%x: tensor<4x8xf16>, %w: tensor<8x16xf16>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  // expected-error @below {{expected operands of f32, bf16 or i8 after Precision}}
  %y = sinter.matmul %x, %w : (tensor<4x8xf16>, tensor<8x16xf16>) -> tensor<4x16xf32>
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
