// RUN: sinter-opt %s --sinter-assign-target=target=cpu:cooperlake --sinter-pack-weights | FileCheck %s

// A rank's part of codes has the values that all of them have.
// CHECK-LABEL: func.func @part
// CHECK: sinter.pack %{{.*}} : (tensor<64x64xi8>) -> tensor<2x64x32xi8, #sinter.panels<width = 32, interleave = 4, depth = 32, values = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]>>
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @part(%x: tensor<4x64xf32> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
      %q: tensor<128x64xi8> {sinter.parameter = "q", sinter.values = array<i8: 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12>},
      %s: tensor<2x32x2xf32> {sinter.parameter = "s"}) -> tensor<4x32xf32> attributes {sinter.entry} {
    %0 = sinter.reshape %q : (tensor<128x64xi8>) -> tensor<2x2x32x64xi8>
    %1 = sinter.transpose %0 {permutation = array<i64: 1, 0, 2, 3>} : (tensor<2x2x32x64xi8>) -> tensor<2x2x32x64xi8>
    %2 = sinter.all_slice ["tensor"] %1 : (tensor<2x2x32x64xi8>) -> tensor<2x32x64xi8>
    %3 = sinter.grouped_matmul %x, %2, %o scales %s {transpose_rhs} : (tensor<4x64xf32>, tensor<2x32x64xi8>, tensor<3xi32>, tensor<2x32x2xf32>) -> tensor<4x32xf32>
    return %3 : tensor<4x32xf32>
  }
}
