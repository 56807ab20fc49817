// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-select-library-gemm | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-select-library-gemm %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Passed] LibraryGemm | {{.*}}Function=prefill | Remark="matmul + add + gelu: {{.*}} by the library, {{.*}} generated"

// The library has matrix units. Many rows; a residual and an activation are post-ops.
// CHECK-LABEL: func.func @prefill
// CHECK: sinter.fusion library_gemm
func.func @prefill(%x: tensor<512x768xbf16>, %w: tensor<768x768xbf16>, %h: tensor<512x768xf32>)
    -> tensor<512x768xf32> attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w, %h : tensor<512x768xbf16>, tensor<768x768xbf16>,
      tensor<512x768xf32>) -> (tensor<512x768xf32>) {
  ^bb0(%a0: tensor<512x768xbf16>, %a1: tensor<768x768xbf16>, %a2: tensor<512x768xf32>):
    %1 = sinter.matmul %a0, %a1 : (tensor<512x768xbf16>, tensor<768x768xbf16>) -> tensor<512x768xf32>
    %2 = sinter.add %a2, %1 : (tensor<512x768xf32>, tensor<512x768xf32>) -> tensor<512x768xf32>
    %3 = sinter.gelu %2 {tanh} : (tensor<512x768xf32>) -> tensor<512x768xf32>
    sinter.yield %3 : tensor<512x768xf32>
  }
  return %0 : tensor<512x768xf32>
}
