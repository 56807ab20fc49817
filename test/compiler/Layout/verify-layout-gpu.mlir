// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-verify-layout -verify-diagnostics

func.func @entry(%x: tensor<4x8xf32>,
    %w: tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>)
    -> tensor<4x16xf32> attributes {sinter.entry} {
  // expected-error @below {{expected plain operands for a GPU after Layout}}
  %y = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
