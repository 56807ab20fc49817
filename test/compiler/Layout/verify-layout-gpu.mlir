// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cuda:sm_90 --sinter-verify-layout -verify-diagnostics

func.func @panels(%x: tensor<4x8xf32>,
    %w: tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>)
    -> tensor<4x16xf32> attributes {sinter.entry} {
  // expected-error @below {{expected plain operands, but integers of four bits in a panel, for a GPU after Layout}}
  %y = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

func.func @halves(%x: tensor<4x32xf32>, %w: tensor<16x32xi4>, %s: tensor<16x1xf32>)
    -> tensor<4x16xf32> attributes {sinter.entry} {
  // expected-error @below {{expected plain operands, but integers of four bits in a panel, for a GPU after Layout}}
  %y = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<4x32xf32>, tensor<16x32xi4>, tensor<16x1xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

func.func @expert_halves(%x: tensor<4x32xf32>, %w: tensor<2x16x32xi4>, %o: tensor<3xi32>, %s: tensor<2x16x1xf32>)
    -> tensor<4x16xf32> attributes {sinter.entry} {
  // expected-error @below {{expected plain operands, but integers of four bits in a panel, for a GPU after Layout}}
  %y = sinter.grouped_matmul %x, %w, %o scales %s {transpose_rhs} : (tensor<4x32xf32>, tensor<2x16x32xi4>, tensor<3xi32>, tensor<2x16x1xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

func.func @columns(%x: tensor<4x32xf32>, %w: tensor<32x16xi8>, %s: tensor<1x16xf32>)
    -> tensor<4x16xf32> attributes {sinter.entry} {
  // expected-error @below {{expected rows of integers, [n, k], for a GPU after Layout}}
  %y = sinter.matmul %x, %w, %s : (tensor<4x32xf32>, tensor<32x16xi8>, tensor<1x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
