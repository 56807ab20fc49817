// RUN: sinter-opt %s --sinter-verify-global --split-input-file --verify-diagnostics

func.func @packed(%w: tensor<8x16xf32>)
    -> tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
    attributes {sinter.entry} {
  // expected-error @below {{expected only dense tensors in an entry after Global}}
  %p = sinter.pack %w : (tensor<8x16xf32>)
     -> tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
  // expected-error @below {{expected only dense tensors in an entry after Global}}
  return %p : tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
}

// -----

func.func @packed_argument(
    %x: tensor<4x8xf32>, %w: tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>)
    -> tensor<4x16xf32> attributes {sinter.entry} {
  // expected-error @below {{expected only dense tensors in an entry after Global}}
  %y = sinter.matmul %x, %w
     : (tensor<4x8xf32>, tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>)
    -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
