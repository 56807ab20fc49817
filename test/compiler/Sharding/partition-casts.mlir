// RUN: sinter-opt %s --sinter-partition --cse | FileCheck %s

// Of parameters that ranks share (ZeRO 3) each casts its own part: what is gathered has 16 bits, behind
// the layer before, and is gathered again for the backward pass instead of kept.
// CHECK-LABEL: func.func @train(
// CHECK-SAME: %[[X:.*]]: tensor<2x8xbf16>{{.*}}, %[[W:.*]]: tensor<4x8xf32>
// CHECK: %[[PART:.*]] = sinter.cast %[[W]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// CHECK: %[[Y:.*]] = sinter.silu %[[X]]
// CHECK: %[[ALL:.*]] = sinter.all_gather ["data"] %[[PART]] : (tensor<4x8xbf16>) -> tensor<2x4x8xbf16>
// CHECK: %[[WHOLE:.*]] = sinter.reshape %[[ALL]] : (tensor<2x4x8xbf16>) -> tensor<8x8xbf16>
// CHECK: sinter.matmul %[[Y]], %[[WHOLE]]
// CHECK: sinter.matmul %{{.*}}, %[[WHOLE]]
// CHECK: %[[AGAIN:.*]] = sinter.all_gather ["data"] %[[PART]] {sinter.recompute}
// CHECK: %[[SECOND:.*]] = sinter.reshape %[[AGAIN]] {sinter.recompute}
// CHECK: sinter.matmul %{{.*}}, %[[SECOND]]
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @train(%x: tensor<2x8xbf16>,
                   %w: tensor<8x8xf32> {sinter.state = "w", sinter.sharding = #sinter.sharding<[["data"], []]>})
      -> tensor<2x8xbf16> attributes {sinter.entry, sinter.manual = ["data"]} {
    %0 = sinter.cast %w : (tensor<8x8xf32>) -> tensor<8x8xbf16>
    %1 = sinter.silu %x : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
    %2 = sinter.matmul %1, %0 : (tensor<2x8xbf16>, tensor<8x8xbf16>) -> tensor<2x8xbf16>
    %3 = sinter.matmul %2, %0 : (tensor<2x8xbf16>, tensor<8x8xbf16>) -> tensor<2x8xbf16>
    %4 = sinter.matmul %3, %0 : (tensor<2x8xbf16>, tensor<8x8xbf16>) -> tensor<2x8xbf16> loc(fused<"backward">["layer.0"])
    return %4 : tensor<2x8xbf16>
  }
}
