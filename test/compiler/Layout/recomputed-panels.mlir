// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-global-pipeline --sinter-layout-pipeline --sinter-fusion-pipeline --cse | FileCheck %s

// Products that are done again have panels of their own, merged ones too, also where common
// subexpressions are eliminated afterwards: the first ones need not wait for them.
// CHECK-LABEL: func.func @train_step
// CHECK: sinter.fusion pack(%arg1, %arg2
// CHECK: sinter.fusion pack(%arg3
// CHECK: sinter.fusion pack(%arg1, %arg2
// CHECK: sinter.fusion pack(%arg3
func.func @train_step(%x: tensor<64x128xf32> {sinter.input = "x"},
                      %q: tensor<128x64xf32> {sinter.state = "q"},
                      %k: tensor<128x64xf32> {sinter.state = "k"},
                      %o: tensor<64x64xf32> {sinter.state = "o"})
    -> (tensor<64x64xf32> {sinter.output = "first"}, tensor<64x64xf32> {sinter.output = "again"})
    attributes {sinter.entry} {
  %1 = sinter.matmul %x, %q : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
  %3 = sinter.matmul %x, %k : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
  %4 = sinter.mul %1, %3 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = sinter.matmul %4, %o : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %8 = sinter.matmul %x, %q {sinter.recompute} : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
  %10 = sinter.matmul %x, %k {sinter.recompute} : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
  %11 = sinter.mul %8, %10 {sinter.recompute} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %13 = sinter.matmul %11, %o {sinter.recompute} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %6, %13 : tensor<64x64xf32>, tensor<64x64xf32>
}
