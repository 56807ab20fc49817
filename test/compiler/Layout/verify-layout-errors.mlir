// RUN: sinter-opt %s --sinter-verify-layout --split-input-file --verify-diagnostics

func.func @dense(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  // expected-error @below {{expected a right-hand side in panels, not transposed, or an f32 state as it is, after Layout}}
  %y = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

#panels = #sinter.panels<width = 64, interleave = 2, depth = 32>
func.func @dense_gradient(%x: tensor<4x8xbf16>, %g: tensor<4x16xbf16, #panels>) -> tensor<8x16xf32>
    attributes {sinter.entry} {
  // expected-error @below {{expected a transposed left-hand side of bf16 in panels after Layout}}
  %y = sinter.matmul %x, %g {transpose_lhs} : (tensor<4x8xbf16>, tensor<4x16xbf16, #panels>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
