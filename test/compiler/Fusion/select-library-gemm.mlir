// RUN: sinter-opt %s --sinter-assign-target=target=cpu:sapphirerapids --sinter-select-library-gemm | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:sapphirerapids --sinter-select-library-gemm %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Passed] LibraryGemm | {{.*}}Function=prefill | Remark="matmul + add + gelu + add + cast: {{.*}} by the library, {{.*}} generated"

#panels = #sinter.panels<width = 64, interleave = 2, depth = 32>

// The library multiplies bf16 in tiles. Many rows; bias, activation, residual and the narrowing
// store are all post-ops.
// CHECK-LABEL: func.func @prefill
// CHECK: sinter.fusion library_gemm
func.func @prefill(%x: tensor<512x768xbf16>, %w: tensor<768x768xbf16, #panels>, %b: tensor<768xf32>,
                   %h: tensor<512x768xf32>) -> tensor<512x768xbf16> attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w, %b, %h : tensor<512x768xbf16>, tensor<768x768xbf16, #panels>,
      tensor<768xf32>, tensor<512x768xf32>) -> (tensor<512x768xbf16>) {
  ^bb0(%a0: tensor<512x768xbf16>, %a1: tensor<768x768xbf16, #panels>, %a2: tensor<768xf32>,
       %a3: tensor<512x768xf32>):
    %1 = sinter.matmul %a0, %a1 : (tensor<512x768xbf16>, tensor<768x768xbf16, #panels>) -> tensor<512x768xf32>
    %2 = sinter.broadcast %a2 {dims = array<i64: 1>} : (tensor<768xf32>) -> tensor<512x768xf32>
    %3 = sinter.add %1, %2 : (tensor<512x768xf32>, tensor<512x768xf32>) -> tensor<512x768xf32>
    %4 = sinter.gelu %3 {tanh} : (tensor<512x768xf32>) -> tensor<512x768xf32>
    %5 = sinter.add %a3, %4 : (tensor<512x768xf32>, tensor<512x768xf32>) -> tensor<512x768xf32>
    %6 = sinter.cast %5 : (tensor<512x768xf32>) -> tensor<512x768xbf16>
    sinter.yield %6 : tensor<512x768xbf16>
  }
  return %0 : tensor<512x768xbf16>
}
