// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-absorb-norms %remarks 2>&1 | FileCheck %s

// CHECK-DAG: NormAbsorbed {{.*}}rms_norm + cast in each of the 1 products that use it: {{[0-9.]+}} us together, {{[0-9.]+}} us apart
// CHECK-DAG: NormAbsorbed {{.*}}layer_norm + layer_norm in each of the 2 products that use it

// The norm, its rounding, and the product with its epilogue; an operand of both is one.
// CHECK-LABEL: func.func @decode
// CHECK-NEXT: %[[Y:.*]] = sinter.fusion gemm(%arg0, %arg1, %arg2 :
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x64xf32>, %[[G:.*]]: tensor<64xf32>, %[[W:.*]]: tensor<64x64xbf16>):
// CHECK-NEXT: %[[N:.*]] = sinter.rms_norm %[[X]], %[[G]]
// CHECK-NEXT: %[[C:.*]] = sinter.cast %[[N]]
// CHECK-NEXT: %[[P:.*]] = sinter.matmul %[[C]], %[[W]]
// CHECK-NEXT: %[[S:.*]] = sinter.add %[[P]], %[[X]]
// CHECK-NEXT: sinter.yield %[[S]]
// CHECK: return %[[Y]]
func.func @decode(%x: tensor<2x64xf32>, %g: tensor<64xf32>, %w: tensor<64x64xbf16>) -> tensor<2x64xf32>
    attributes {sinter.entry} {
  %0 = sinter.fusion rows(%x, %g : tensor<2x64xf32>, tensor<64xf32>) -> (tensor<2x64xbf16>) {
  ^bb0(%a: tensor<2x64xf32>, %b: tensor<64xf32>):
    %2 = sinter.rms_norm %a, %b {eps = 1.0e-5} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
    %3 = sinter.cast %2 : (tensor<2x64xf32>) -> tensor<2x64xbf16>
    sinter.yield %3 : tensor<2x64xbf16>
  }
  %1 = sinter.fusion gemm(%0, %w, %x : tensor<2x64xbf16>, tensor<64x64xbf16>, tensor<2x64xf32>) -> (tensor<2x64xf32>) {
  ^bb0(%a: tensor<2x64xbf16>, %b: tensor<64x64xbf16>, %c: tensor<2x64xf32>):
    %2 = sinter.matmul %a, %b {transpose_rhs} : (tensor<2x64xbf16>, tensor<64x64xbf16>) -> tensor<2x64xf32>
    %3 = sinter.add %2, %c : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
    sinter.yield %3 : tensor<2x64xf32>
  }
  return %1 : tensor<2x64xf32>
}

// Two norms of the same rows, in one kernel till now, each for a product of its own.
// CHECK-LABEL: func.func @parallel
// CHECK-NOT: sinter.fusion rows
// CHECK: sinter.fusion gemm(%arg0, %arg1, %arg2, %arg3 :
// CHECK: sinter.layer_norm
// CHECK-NOT: sinter.layer_norm
// CHECK: sinter.fusion gemm(%arg0, %arg1, %arg2, %arg3 :
// CHECK: sinter.layer_norm
// CHECK: return
func.func @parallel(%x: tensor<1x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>, %w: tensor<4x8xf32>)
    -> (tensor<1x4xf32>, tensor<1x4xf32>) attributes {sinter.entry} {
  %0:2 = sinter.fusion rows(%x, %g, %b : tensor<1x8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<1x8xf32>, tensor<1x8xf32>) {
  ^bb0(%a: tensor<1x8xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>):
    %3 = sinter.layer_norm %a, %c, %d {eps = 1.0e-5} : (tensor<1x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
    %4 = sinter.layer_norm %a, %d, %c {eps = 1.0e-5} : (tensor<1x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
    sinter.yield %3, %4 : tensor<1x8xf32>, tensor<1x8xf32>
  }
  %1 = sinter.fusion gemm(%0#0, %w : tensor<1x8xf32>, tensor<4x8xf32>) -> (tensor<1x4xf32>) {
  ^bb0(%a: tensor<1x8xf32>, %c: tensor<4x8xf32>):
    %3 = sinter.matmul %a, %c {transpose_rhs} : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
    sinter.yield %3 : tensor<1x4xf32>
  }
  %2 = sinter.fusion gemm(%0#1, %w : tensor<1x8xf32>, tensor<4x8xf32>) -> (tensor<1x4xf32>) {
  ^bb0(%a: tensor<1x8xf32>, %c: tensor<4x8xf32>):
    %3 = sinter.matmul %a, %c {transpose_rhs} : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
    sinter.yield %3 : tensor<1x4xf32>
  }
  return %1, %2 : tensor<1x4xf32>, tensor<1x4xf32>
}
