// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_80 --sinter-select-warpgroups | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_100 --sinter-select-warpgroups | FileCheck %s

// Architectures before and after have no such instruction.
// CHECK-NOT: sinter.warpgroups
// CHECK: return
// CHECK-NOT: sinter.warpgroups
func.func private @k(%q: tensor<1x100x2x64xbf16>, %l: tensor<1x100x2xf32>) -> tensor<1x100x2x64xbf16>
    attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x100x2x64xbf16>, tensor<1x100x2x64xbf16>, tensor<1x100x2x64xbf16>, tensor<1x100x2x64xbf16>, tensor<1x100x2xf32>, tensor<1x100x2xf32>)
      -> (tensor<1x100x2x64xbf16>, tensor<1x100x2x64xbf16>, tensor<1x100x2x64xbf16>)
  return %0#0 : tensor<1x100x2x64xbf16>
}
