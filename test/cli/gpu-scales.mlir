// A GPU keeps scales in the 16 bits that files have: those of a table that is looked up and
// multiplied by are there once, and a step reads as many bytes.
// RUN: sinter compile %s --target cuda:sm_90 --dtype bf16 --emit program | FileCheck %s

// CHECK-LABEL: plan.program @preprocess
// CHECK-COUNT-2: plan.copy(
// CHECK-NOT: plan.copy(
// CHECK-NOT: plan.launch
// CHECK-LABEL: plan.program @decode
// CHECK: %[[SCALES:.*]] = plan.slice parameter[4096, 256] "table:scales (as stored)" : tensor<64x2xf16>
// CHECK: plan.launch {{.*}}, %[[SCALES]])
// CHECK: plan.launch @[[PRODUCT:.*]] grid 4({{.*}}, %[[SCALES]]) -> {{.*}} {bytes = 4736 : i64
// CHECK: func.func private @[[PRODUCT]](memref<64xbf16> {{.*}}, memref<4096xi8> {{.*}}, memref<128xf16> {{.*}}, memref<64xf32> {{.*}})
// CHECK-SAME: ScaleElement = f16
func.func @decode(%ids: tensor<1x1xi32> {sinter.input = "tokens"},
    %w: tensor<64x64xi8> {sinter.parameter = "table:integers"},
    %s: tensor<64x2xf16> {sinter.parameter = "table:scales"})
    -> (tensor<1x64xf32> {sinter.output = "logits"}) attributes {sinter.entry} {
  %0 = sinter.embedding %w, %ids : (tensor<64x64xi8>, tensor<1x1xi32>) -> tensor<1x1x64xi8>
  %1 = sinter.cast %0 : (tensor<1x1x64xi8>) -> tensor<1x1x64xf32>
  %2 = sinter.reshape %1 : (tensor<1x1x64xf32>) -> tensor<1x1x2x32xf32>
  %3 = sinter.embedding %s, %ids : (tensor<64x2xf16>, tensor<1x1xi32>) -> tensor<1x1x2xf16>
  %4 = sinter.cast %3 : (tensor<1x1x2xf16>) -> tensor<1x1x2xf32>
  %5 = sinter.broadcast %4 {dims = array<i64: 0, 1, 2>} : (tensor<1x1x2xf32>) -> tensor<1x1x2x32xf32>
  %6 = sinter.mul %2, %5 : (tensor<1x1x2x32xf32>, tensor<1x1x2x32xf32>) -> tensor<1x1x2x32xf32>
  %7 = sinter.reshape %6 : (tensor<1x1x2x32xf32>) -> tensor<1x64xf32>
  %8 = sinter.matmul %7, %w, %s {transpose_rhs} : (tensor<1x64xf32>, tensor<64x64xi8>, tensor<64x2xf16>) -> tensor<1x64xf32>
  return %8 : tensor<1x64xf32>
}
