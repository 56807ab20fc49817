// RUN: sinter-opt %s --sinter-share-tables | FileCheck %s
// RUN: sinter-opt %s --sinter-share-tables %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

#f32 = #sinter.panels<width = 64, interleave = 1, depth = 16>

// A rank's part of a table is one, too.
// REMARK: Function=part
// REMARK-SAME: wte is held in panels alone
// CHECK-LABEL: func.func @part
// CHECK: %[[OWN:.*]] = sinter.all_slice ["tensor"]
// CHECK-NEXT: %[[T:.*]] = sinter.transpose %[[OWN]]
// CHECK-NEXT: %[[P:.*]] = sinter.pack %[[T]]
// CHECK: sinter.embedding %[[P]], %arg0, %{{.*}} {transpose_table}
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @part(%ids: tensor<4xi32> {sinter.input = "tokens"}, %w: tensor<64x8xf32> {sinter.parameter = "wte"})
      -> tensor<4x32xf32> attributes {sinter.entry} {
    %both = sinter.reshape %w : (tensor<64x8xf32>) -> tensor<2x32x8xf32>
    %own = sinter.all_slice ["tensor"] %both : (tensor<2x32x8xf32>) -> tensor<32x8xf32>
    %start = sinter.constant dense<32> : tensor<1xi32>
    %x = sinter.embedding %own, %ids, %start : (tensor<32x8xf32>, tensor<4xi32>, tensor<1xi32>) -> tensor<4x8xf32>
    %t = sinter.transpose %own {permutation = array<i64: 1, 0>} : (tensor<32x8xf32>) -> tensor<8x32xf32>
    %p = sinter.pack %t : (tensor<8x32xf32>) -> tensor<8x32xf32, #f32>
    %y = sinter.matmul %x, %p : (tensor<4x8xf32>, tensor<8x32xf32, #f32>) -> tensor<4x32xf32>
    return %y : tensor<4x32xf32>
  }
}
