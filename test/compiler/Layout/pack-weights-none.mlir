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
