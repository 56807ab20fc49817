// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels=tune --sinter-lower-to-plan --sinter-offer-library-attention --sinter-verify-schedule | FileCheck %s

// The library is one more where kernels are left to the device.
func.func private @forward(%q: tensor<2x256x2x64xbf16>) -> tensor<2x256x2x64xbf16>
    attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %q, %q {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<2x256x2x64xbf16>, tensor<2x256x2x64xbf16>, tensor<2x256x2x64xbf16>) -> tensor<2x256x2x64xbf16>
  return %0 : tensor<2x256x2x64xbf16>
}

// CHECK-LABEL: plan.program @train
func.func @train(%q: tensor<2x256x2x64xbf16> {sinter.input = "q"}) -> (tensor<2x256x2x64xbf16> {sinter.output = "y"})
    attributes {sinter.entry} {
  // CHECK: plan.alternatives {
  // CHECK-NEXT: plan.launch @forward grid 16(%[[X:.*]]) -> (%[[Y:.*]]) {
  // CHECK-NEXT: } or {
  // CHECK-NEXT: plan.launch @forward_tile128 grid 8(%[[X]]) -> (%[[Y]]) {
  // CHECK-NEXT: } or {
  // CHECK-NEXT: plan.attention(%[[X]], %[[X]], %[[X]]) workspace(%{{.*}}) -> (%[[Y]]) {
  // CHECK-NEXT: {{^ *}}}
  // CHECK-NEXT: {{^ *}}}
  %0 = sinter.call_kernel @forward(%q) : (tensor<2x256x2x64xbf16>) -> tensor<2x256x2x64xbf16>
  return %0 : tensor<2x256x2x64xbf16>
}
