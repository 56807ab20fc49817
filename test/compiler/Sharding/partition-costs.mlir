// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cpu:x86-64-v4 --sinter-partition | FileCheck %s

// A softmax needs its rows whole: columns are exchanged for rows. The gradient is never a sum over
// ranks: rows are exchanged for the columns of the product.
// CHECK-LABEL: func.func @loss(
// CHECK: %[[LOGITS:.*]] = sinter.matmul %arg0, %arg1 : (tensor<256x8xf32>, tensor<8x10000xf32>) -> tensor<256x10000xf32>
// CHECK: sinter.all_to_all ["tensor"] %{{.*}} : (tensor<2x128x10000xf32>) -> tensor<2x128x10000xf32>
// CHECK: sinter.cross_entropy_grad %{{.*}} : (tensor<128x20000xf32>, tensor<128xi32>, tensor<128xf32>) -> tensor<128x20000xf32>
// CHECK: sinter.all_to_all ["tensor"] %{{.*}} : (tensor<2x128x10000xf32>) -> tensor<2x128x10000xf32>
// CHECK: sinter.matmul %arg0, %{{.*}} {transpose_lhs} : (tensor<256x8xf32>, tensor<256x10000xf32>) -> tensor<8x10000xf32>
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @loss(%x: tensor<256x8xf32> {sinter.input = "x"}, %w: tensor<8x20000xf32> {sinter.input = "w", sinter.sharding = #sinter.sharding<[[], ["tensor"]]>},
                  %t: tensor<256xi32> {sinter.input = "t"}, %g: tensor<256xf32> {sinter.input = "g"})
      -> (tensor<8x20000xf32> {sinter.output = "dw", sinter.sharding = #sinter.sharding<[[], ["tensor"]]>}) attributes {sinter.entry} {
    %0 = sinter.matmul %x, %w : (tensor<256x8xf32>, tensor<8x20000xf32>) -> tensor<256x20000xf32>
    %1 = sinter.cross_entropy_grad %0, %t, %g : (tensor<256x20000xf32>, tensor<256xi32>, tensor<256xf32>) -> tensor<256x20000xf32>
    %2 = sinter.matmul %x, %1 {transpose_lhs} : (tensor<256x8xf32>, tensor<256x20000xf32>) -> tensor<8x20000xf32>
    return %2 : tensor<8x20000xf32>
  }
}

// -----

// Of a stack that a product multiplies by otherwise than it is split, parts are exchanged for those of
// the product's columns: no rank has all of it.
// CHECK-LABEL: func.func @experts(
// CHECK-COUNT-2: sinter.all_to_all ["tensor"] %{{.*}} : (tensor<2x2x16x32xf32>) -> tensor<2x2x16x32xf32>
// CHECK-NOT: sinter.all_gather
// CHECK: %[[ALL:.*]] = sinter.concat %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<2x32x32xf32>, tensor<2x32x32xf32>) -> tensor<2x64x32xf32>
// CHECK: sinter.grouped_matmul %arg0, %[[ALL]], %arg1 : (tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<3xi32>) -> tensor<8x32xf32>
module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  func.func @experts(%x: tensor<8x64xf32> {sinter.input = "x"}, %o: tensor<3xi32> {sinter.input = "o"},
                     %g: tensor<2x32x64xf32> {sinter.state = "g", sinter.sharding = #sinter.sharding<[[], ["tensor"], []]>},
                     %u: tensor<2x32x64xf32> {sinter.state = "u", sinter.sharding = #sinter.sharding<[[], ["tensor"], []]>})
      -> (tensor<8x64xf32> {sinter.output = "y", sinter.sharding = #sinter.sharding<[[], ["tensor"]]>}) attributes {sinter.entry} {
    %0 = sinter.concat %g, %u {dim = 1 : i64} : (tensor<2x32x64xf32>, tensor<2x32x64xf32>) -> tensor<2x64x64xf32>
    %1 = sinter.grouped_matmul %x, %0, %o : (tensor<8x64xf32>, tensor<2x64x64xf32>, tensor<3xi32>) -> tensor<8x64xf32>
    return %1 : tensor<8x64xf32>
  }
}
