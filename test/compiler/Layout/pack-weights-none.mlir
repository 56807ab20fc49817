// RUN: sinter-opt %s --sinter-pack-weights | FileCheck %s

// CHECK-LABEL: func.func @packed_already
// CHECK-COUNT-1: sinter.pack
// CHECK-NOT: sinter.pack
func.func @packed_already(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32>
    attributes {sinter.entry} {
  %p = sinter.pack %w : (tensor<8x16xf32>)
      -> tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
  %y = sinter.matmul %x, %p
      : (tensor<4x8xf32>, tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>)
      -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
// CHECK-LABEL: func.func @no_entry
func.func @no_entry(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %y = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// What is trained is read as it is.
// CHECK-LABEL: func.func @experts
// CHECK-NOT: sinter.pack
func.func @experts(%x: tensor<4x8xf32> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
    %s: tensor<2x32x8xf32> {sinter.state = "s"}) -> tensor<4x32xf32> attributes {sinter.entry} {
  %0 = sinter.grouped_matmul %x, %s, %o {transpose_rhs} : (tensor<4x8xf32>, tensor<2x32x8xf32>, tensor<3xi32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
