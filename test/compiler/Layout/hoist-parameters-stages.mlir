// RUN: sinter-opt %s --sinter-hoist-parameters | FileCheck %s

// Each place along a pipeline preprocesses what its stages read.
#panels = #sinter.panels<width = 16, interleave = 1, depth = 4>
// CHECK-LABEL: func.func @preprocess.1.forward(
// CHECK-SAME: sinter.parameter = "w"
// CHECK-SAME: -> (tensor<8x16xf32, #{{.*}}> {sinter.preprocessed = "p0"}) attributes {sinter.entry, sinter.pipeline_stage = 1 : i64}
// CHECK-LABEL: func.func @preprocess.0.forward(
// CHECK-SAME: sinter.parameter = "v"
// CHECK-SAME: -> (tensor<8x16xf32, #{{.*}}> {sinter.preprocessed = "p0"}) attributes {sinter.entry, sinter.pipeline_stage = 0 : i64}
// CHECK-LABEL: func.func @decode.0.forward(
// CHECK-SAME: sinter.preprocessed = "p0"
// CHECK-NOT: sinter.pack
// CHECK-LABEL: func.func @decode.1.forward(
// CHECK-SAME: sinter.preprocessed = "p0"
// CHECK-NOT: sinter.pack
module attributes {sinter.grid = #sinter.grid<pipeline = 2>} {
  func.func @decode.0.forward(%x: tensor<1x8xf32> {sinter.input = "x"}, %v: tensor<8x16xf32> {sinter.parameter = "v"})
      -> (tensor<1x16xf32> {sinter.output = "y"}) attributes {sinter.entry, sinter.pipeline_stage = 0 : i64} {
    %p = sinter.pack %v : (tensor<8x16xf32>) -> tensor<8x16xf32, #panels>
    %z = sinter.matmul %x, %p : (tensor<1x8xf32>, tensor<8x16xf32, #panels>) -> tensor<1x16xf32>
    return %z : tensor<1x16xf32>
  }
  func.func @decode.1.forward(%x: tensor<1x8xf32> {sinter.input = "x"}, %w: tensor<8x16xf32> {sinter.parameter = "w"})
      -> (tensor<1x16xf32> {sinter.output = "y"}) attributes {sinter.entry, sinter.pipeline_stage = 1 : i64} {
    %p = sinter.pack %w : (tensor<8x16xf32>) -> tensor<8x16xf32, #panels>
    %z = sinter.matmul %x, %p : (tensor<1x8xf32>, tensor<8x16xf32, #panels>) -> tensor<1x16xf32>
    return %z : tensor<1x16xf32>
  }
}
