// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v3 --sinter-form-fusions | FileCheck %s

// What order a sum has must not depend on what its row is fused with: rows are put together first.
// CHECK-LABEL: func.func @prefill
// CHECK: %[[ROWS:.*]] = sinter.concat
// CHECK: sinter.fusion rows(%[[ROWS]]
// CHECK: sinter.rms_norm
// CHECK: sinter.mul
func.func @prefill(%x: tensor<64x64xf32> {sinter.input = "x"}, %y: tensor<64x64xf32> {sinter.input = "y"},
                   %w: tensor<64xf32> {sinter.parameter = "w"})
    -> (tensor<128x64xf32> {sinter.output = "z"}) attributes {sinter.entry} {
  %0 = sinter.concat %x, %y {dim = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %1 = sinter.rms_norm %0, %w {eps = 1.0e-5} : (tensor<128x64xf32>, tensor<64xf32>) -> tensor<128x64xf32>
  %2 = sinter.mul %1, %1 : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  return %2 : tensor<128x64xf32>
}
