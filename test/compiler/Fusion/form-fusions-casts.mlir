// RUN: sinter-opt %s --sinter-assign-target=target=cpu:sapphirerapids --sinter-form-fusions | FileCheck %s

#panels = #sinter.panels<width = 64, interleave = 2, depth = 32>

// A weight is rounded where it is packed, once for each product: nothing narrow waits from the
// forward to the backward pass. What the step computes is rounded once.
// CHECK-LABEL: func.func @train_step
// CHECK-COUNT-2: sinter.fusion pack(%arg1 : tensor<128x64xf32>)
// CHECK: sinter.cast %arg0
// CHECK-NOT: sinter.cast
// CHECK: return
func.func @train_step(%x: tensor<128x64xf32> {sinter.input = "x"},
                      %w: tensor<128x64xf32> {sinter.state = "w"})
    -> (tensor<128x64xbf16, #panels> {sinter.output = "a"}, tensor<64x128xbf16, #panels> {sinter.output = "b"},
        tensor<128x64xbf16, #panels> {sinter.output = "c"}, tensor<64x128xbf16, #panels> {sinter.output = "d"})
    attributes {sinter.entry} {
  %0 = sinter.cast %w : (tensor<128x64xf32>) -> tensor<128x64xbf16>
  %1 = sinter.pack %0 : (tensor<128x64xbf16>) -> tensor<128x64xbf16, #panels>
  %2 = sinter.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<128x64xbf16>) -> tensor<64x128xbf16>
  %3 = sinter.pack %2 : (tensor<64x128xbf16>) -> tensor<64x128xbf16, #panels>
  %4 = sinter.cast %x : (tensor<128x64xf32>) -> tensor<128x64xbf16>
  %5 = sinter.pack %4 : (tensor<128x64xbf16>) -> tensor<128x64xbf16, #panels>
  %6 = sinter.transpose %4 {permutation = array<i64: 1, 0>} : (tensor<128x64xbf16>) -> tensor<64x128xbf16>
  %7 = sinter.pack %6 : (tensor<64x128xbf16>) -> tensor<64x128xbf16, #panels>
  return %1, %3, %5, %7 : tensor<128x64xbf16, #panels>, tensor<64x128xbf16, #panels>, tensor<128x64xbf16, #panels>, tensor<64x128xbf16, #panels>
}
