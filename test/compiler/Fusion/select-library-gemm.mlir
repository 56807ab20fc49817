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

// Rows of fp8 with scales, on this architecture; a bias of the result's 16 bits.
// CHECK-LABEL: func.func @fp8
// CHECK: sinter.fusion library_gemm
func.func @fp8(%x: tensor<512x768xf8E4M3FN>, %r: tensor<512x1xf32>, %w: tensor<768x768xf8E4M3FN>,
    %s: tensor<768x1xf32>) -> tensor<512x768xbf16> attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %r, %w, %s : tensor<512x768xf8E4M3FN>, tensor<512x1xf32>, tensor<768x768xf8E4M3FN>,
      tensor<768x1xf32>) -> (tensor<512x768xbf16>) {
  ^bb0(%a0: tensor<512x768xf8E4M3FN>, %a1: tensor<512x1xf32>, %a2: tensor<768x768xf8E4M3FN>, %a3: tensor<768x1xf32>):
    %1 = sinter.matmul %a0, %a2, %a3 rows %a1 {transpose_rhs} : (tensor<512x768xf8E4M3FN>,
      tensor<768x768xf8E4M3FN>, tensor<768x1xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
    %2 = sinter.cast %1 : (tensor<512x768xf32>) -> tensor<512x768xbf16>
    sinter.yield %2 : tensor<512x768xbf16>
  }
  return %0 : tensor<512x768xbf16>
}
