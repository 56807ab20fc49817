// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-select-library-gemm | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-select-library-gemm %remarks 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:sapphirerapids --sinter-select-library-gemm %remarks 2>&1 | FileCheck %s --check-prefix=CPU

// REMARK: [Missed] LibraryGemm | {{.*}}Function=decode | Remark="matmul: {{.*}} by the library, {{.*}} generated"
// REMARK: [Missed] LibraryGemm | {{.*}}Function=softcap | Remark="matmul + softcap: {{.*}}; the library has no such product"

// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_100 --sinter-select-library-gemm | FileCheck %s --check-prefix=OTHER

// Rows of bytes, and rows of fp8 that are no multiples of 16 or have a function behind them; on other
// architectures all of fp8.
// CHECK-LABEL: func.func @bytes
// CHECK-NOT: sinter.fusion library_gemm
// CHECK-LABEL: func.func @odd_fp8
// CHECK-NOT: sinter.fusion library_gemm
// CHECK-LABEL: func.func @relu_fp8
// CHECK-NOT: sinter.fusion library_gemm
// CHECK-LABEL: func.func @fp8
// OTHER-LABEL: func.func @fp8
// OTHER-NOT: sinter.fusion library_gemm
// OTHER-LABEL: func.func @decode
func.func @bytes(%x: tensor<512x768xi8>, %r: tensor<512x1xf32>, %w: tensor<768x768xi8>, %s: tensor<768x1xf32>)
    -> tensor<512x768xf32> attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %r, %w, %s : tensor<512x768xi8>, tensor<512x1xf32>, tensor<768x768xi8>,
      tensor<768x1xf32>) -> (tensor<512x768xf32>) {
  ^bb0(%a0: tensor<512x768xi8>, %a1: tensor<512x1xf32>, %a2: tensor<768x768xi8>, %a3: tensor<768x1xf32>):
    %1 = sinter.matmul %a0, %a2, %a3 rows %a1 {transpose_rhs} : (tensor<512x768xi8>, tensor<768x768xi8>,
      tensor<768x1xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
    sinter.yield %1 : tensor<512x768xf32>
  }
  return %0 : tensor<512x768xf32>
}
func.func @odd_fp8(%x: tensor<512x760xf8E4M3FN>, %r: tensor<512x1xf32>, %w: tensor<768x760xf8E4M3FN>,
    %s: tensor<768x1xf32>) -> tensor<512x768xf32> attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %r, %w, %s : tensor<512x760xf8E4M3FN>, tensor<512x1xf32>, tensor<768x760xf8E4M3FN>,
      tensor<768x1xf32>) -> (tensor<512x768xf32>) {
  ^bb0(%a0: tensor<512x760xf8E4M3FN>, %a1: tensor<512x1xf32>, %a2: tensor<768x760xf8E4M3FN>, %a3: tensor<768x1xf32>):
    %1 = sinter.matmul %a0, %a2, %a3 rows %a1 {transpose_rhs} : (tensor<512x760xf8E4M3FN>,
      tensor<768x760xf8E4M3FN>, tensor<768x1xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
    sinter.yield %1 : tensor<512x768xf32>
  }
  return %0 : tensor<512x768xf32>
}
func.func @relu_fp8(%x: tensor<512x768xf8E4M3FN>, %r: tensor<512x1xf32>, %w: tensor<768x768xf8E4M3FN>,
    %s: tensor<768x1xf32>) -> tensor<512x768xf32> attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %r, %w, %s : tensor<512x768xf8E4M3FN>, tensor<512x1xf32>, tensor<768x768xf8E4M3FN>,
      tensor<768x1xf32>) -> (tensor<512x768xf32>) {
  ^bb0(%a0: tensor<512x768xf8E4M3FN>, %a1: tensor<512x1xf32>, %a2: tensor<768x768xf8E4M3FN>, %a3: tensor<768x1xf32>):
    %1 = sinter.matmul %a0, %a2, %a3 rows %a1 {transpose_rhs} : (tensor<512x768xf8E4M3FN>,
      tensor<768x768xf8E4M3FN>, tensor<768x1xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
    %2 = sinter.relu %1 : (tensor<512x768xf32>) -> tensor<512x768xf32>
    sinter.yield %2 : tensor<512x768xf32>
  }
  return %0 : tensor<512x768xf32>
}
func.func @fp8(%x: tensor<512x768xf8E4M3FN>, %r: tensor<512x1xf32>, %w: tensor<768x768xf8E4M3FN>,
    %s: tensor<768x1xf32>) -> tensor<512x768xf32> attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %r, %w, %s : tensor<512x768xf8E4M3FN>, tensor<512x1xf32>, tensor<768x768xf8E4M3FN>,
      tensor<768x1xf32>) -> (tensor<512x768xf32>) {
  ^bb0(%a0: tensor<512x768xf8E4M3FN>, %a1: tensor<512x1xf32>, %a2: tensor<768x768xf8E4M3FN>, %a3: tensor<768x1xf32>):
    %1 = sinter.matmul %a0, %a2, %a3 rows %a1 {transpose_rhs} : (tensor<512x768xf8E4M3FN>,
      tensor<768x768xf8E4M3FN>, tensor<768x1xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
    sinter.yield %1 : tensor<512x768xf32>
  }
  return %0 : tensor<512x768xf32>
}

// A processor has no library, and nothing is said of one.
// CPU-NOT: by the library
// CPU-NOT: sinter.fusion library_gemm

// One row is memory traffic.
// CHECK-LABEL: func.func @decode
// CHECK: sinter.fusion gemm
func.func @decode(%x: tensor<1x768xf32>, %w: tensor<768x768xf32>) -> tensor<1x768xf32>
    attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w : tensor<1x768xf32>, tensor<768x768xf32>) -> (tensor<1x768xf32>) {
  ^bb0(%a0: tensor<1x768xf32>, %a1: tensor<768x768xf32>):
    %1 = sinter.matmul %a0, %a1 : (tensor<1x768xf32>, tensor<768x768xf32>) -> tensor<1x768xf32>
    sinter.yield %1 : tensor<1x768xf32>
  }
  return %0 : tensor<1x768xf32>
}

// CHECK-LABEL: func.func @softcap
// CHECK: sinter.fusion gemm
func.func @softcap(%x: tensor<512x768xf32>, %w: tensor<768x768xf32>) -> tensor<512x768xf32>
    attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w : tensor<512x768xf32>, tensor<768x768xf32>)
      -> (tensor<512x768xf32>) {
  ^bb0(%a0: tensor<512x768xf32>, %a1: tensor<768x768xf32>):
    %1 = sinter.matmul %a0, %a1 : (tensor<512x768xf32>, tensor<768x768xf32>) -> tensor<512x768xf32>
    %2 = sinter.softcap %1 {cap = 30.0 : f64} : (tensor<512x768xf32>) -> tensor<512x768xf32>
    sinter.yield %2 : tensor<512x768xf32>
  }
  return %0 : tensor<512x768xf32>
}
