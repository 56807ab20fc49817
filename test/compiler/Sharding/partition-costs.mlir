// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-partition | FileCheck %s

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
