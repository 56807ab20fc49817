// What the library is not offered.
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels --sinter-lower-to-plan --sinter-offer-library-attention | FileCheck %s --implicit-check-not=plan.alternatives --implicit-check-not=plan.attention
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels --sinter-lower-to-plan --sinter-offer-library-attention %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK-DAG: Function=cache | Reason="expected no positions that only the device knows"
func.func private @cache(%q: tensor<1x40x4x64xbf16>, %c: tensor<1x64x2x64xbf16>, %start: tensor<1xi32>)
    -> tensor<1x40x4x64xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %c, %c, %start {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>}
      : (tensor<1x40x4x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1xi32>) -> tensor<1x40x4x64xf32>
  return %0 : tensor<1x40x4x64xf32>
}
// REMARK-DAG: Function=softcap | Reason="expected no ALiBi, soft cap or dropout"
func.func private @softcap(%q: tensor<1x40x4x64xbf16>) -> tensor<1x40x4x64xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %q, %q {scale = 0.125, causal, softcap = 3.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x40x4x64xbf16>, tensor<1x40x4x64xbf16>, tensor<1x40x4x64xbf16>) -> tensor<1x40x4x64xf32>
  return %0 : tensor<1x40x4x64xf32>
}
// REMARK-DAG: Function=wide | Reason="expected queries and keys of one type of 16 bits"
func.func private @wide(%q: tensor<1x40x4x64xf32>) -> tensor<1x40x4x64xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %q, %q {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x40x4x64xf32>, tensor<1x40x4x64xf32>, tensor<1x40x4x64xf32>) -> tensor<1x40x4x64xf32>
  return %0 : tensor<1x40x4x64xf32>
}
// REMARK-DAG: Function=odd | Reason="expected heads that begin at multiples of 16 bytes"
func.func private @odd(%q: tensor<1x40x4x20xbf16>) -> tensor<1x40x4x20xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %q, %q {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x40x4x20xbf16>, tensor<1x40x4x20xbf16>, tensor<1x40x4x20xbf16>) -> tensor<1x40x4x20xf32>
  return %0 : tensor<1x40x4x20xf32>
}
// REMARK-DAG: Function=late | Reason="expected a key for every query"
func.func private @late(%q: tensor<1x40x4x64xbf16>, %k: tensor<1x20x4x64xbf16>) -> tensor<1x40x4x64xf32>
    attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %k, %k {scale = 0.125, causal, window = 8, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x40x4x64xbf16>, tensor<1x20x4x64xbf16>, tensor<1x20x4x64xbf16>) -> tensor<1x40x4x64xf32>
  return %0 : tensor<1x40x4x64xf32>
}
// REMARK-DAG: Function=into_f32 | Reason="expected a result of the keys' type"
func.func private @into_f32(%q: tensor<1x40x4x64xbf16>) -> tensor<1x40x4x64xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %q, %q {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x40x4x64xbf16>, tensor<1x40x4x64xbf16>, tensor<1x40x4x64xbf16>) -> tensor<1x40x4x64xf32>
  return %0 : tensor<1x40x4x64xf32>
}
func.func private @relu(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: plan.program @run
func.func @run(%q: tensor<1x40x4x64xbf16> {sinter.input = "q"}, %c: tensor<1x64x2x64xbf16> {sinter.input = "c"},
    %s: tensor<1xi32> {sinter.input = "s"}, %w: tensor<1x40x4x64xf32> {sinter.input = "w"},
    %o: tensor<1x40x4x20xbf16> {sinter.input = "o"}, %k: tensor<1x20x4x64xbf16> {sinter.input = "k"},
    %x: tensor<4xf32> {sinter.input = "x"})
    -> (tensor<1x40x4x64xf32> {sinter.output = "a"}, tensor<1x40x4x64xf32> {sinter.output = "b"},
        tensor<1x40x4x64xf32> {sinter.output = "c"}, tensor<1x40x4x20xf32> {sinter.output = "d"},
        tensor<1x40x4x64xf32> {sinter.output = "e"}, tensor<4xf32> {sinter.output = "f"})
    attributes {sinter.entry} {
  // CHECK: plan.launch @cache
  %0 = sinter.call_kernel @cache(%q, %c, %s) : (tensor<1x40x4x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1xi32>) -> tensor<1x40x4x64xf32>
  %1 = sinter.call_kernel @softcap(%q) : (tensor<1x40x4x64xbf16>) -> tensor<1x40x4x64xf32>
  %f32 = sinter.call_kernel @into_f32(%q) : (tensor<1x40x4x64xbf16>) -> tensor<1x40x4x64xf32>
  %2 = sinter.call_kernel @wide(%w) : (tensor<1x40x4x64xf32>) -> tensor<1x40x4x64xf32>
  %3 = sinter.call_kernel @odd(%o) : (tensor<1x40x4x20xbf16>) -> tensor<1x40x4x20xf32>
  %4 = sinter.call_kernel @late(%q, %k) : (tensor<1x40x4x64xbf16>, tensor<1x20x4x64xbf16>) -> tensor<1x40x4x64xf32>
  // CHECK: plan.launch @relu
  %5 = sinter.call_kernel @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<1x40x4x64xf32>, tensor<1x40x4x64xf32>, tensor<1x40x4x64xf32>, tensor<1x40x4x20xf32>, tensor<1x40x4x64xf32>, tensor<4xf32>
}
