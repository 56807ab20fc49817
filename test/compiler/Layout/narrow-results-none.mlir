// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-narrow-results | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-narrow-results | FileCheck %s

// Outputs, residuals, gradients of weights, products of f32, of few rows and of the optimizer stay
// f32; so does all on a processor.
// CHECK-NOT: tensor<64x64xbf16>
// CHECK-NOT: sinter.cast
func.func @output(%x: tensor<64x16xbf16> {sinter.input = "x"}, %w: tensor<16x64xbf16> {sinter.input = "w"})
    -> (tensor<64x64xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<64x16xbf16>, tensor<16x64xbf16>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
func.func @residual(%x: tensor<64x16xbf16> {sinter.input = "x"}, %w: tensor<16x64xbf16> {sinter.input = "w"},
                    %r: tensor<64x64xf32> {sinter.input = "r"})
    -> (tensor<64x64xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<64x16xbf16>, tensor<16x64xbf16>) -> tensor<64x64xf32>
  %1 = sinter.add %0, %r : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = sinter.exp %1 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}
func.func @weight(%x: tensor<16x64xbf16> {sinter.input = "x"}, %g: tensor<16x64xbf16> {sinter.input = "g"})
    -> (tensor<64x64xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %g {transpose_lhs} : (tensor<16x64xbf16>, tensor<16x64xbf16>) -> tensor<64x64xf32>
  %1 = sinter.exp %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
func.func @wide(%x: tensor<64x16xf32> {sinter.input = "x"}, %w: tensor<16x64xf32> {sinter.input = "w"})
    -> (tensor<64x64xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<64x16xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
  %1 = sinter.exp %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
func.func @few(%x: tensor<8x16xbf16> {sinter.input = "x"}, %w: tensor<16x64xbf16> {sinter.input = "w"})
    -> (tensor<8x64xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<8x16xbf16>, tensor<16x64xbf16>) -> tensor<8x64xf32>
  %1 = sinter.exp %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}
func.func @optimizer(%x: tensor<64x16xbf16> {sinter.input = "x"}, %w: tensor<16x64xbf16> {sinter.input = "w"})
    -> (tensor<64x64xf32> {sinter.output = "y"}) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<64x16xbf16>, tensor<16x64xbf16>) -> tensor<64x64xf32> loc(fused<"optimizer">["h"])
  %1 = sinter.exp %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
