// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-absorb-norms %remarks 2>&1 | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-absorb-norms | FileCheck %s --check-prefix=CPU

// CPU-LABEL: func.func @residual
// CPU: sinter.fusion rows

// CHECK-DAG: NormAbsorbed {{.*}}rms_norm stays apart from the GEMV that uses it: others use it, too
// CHECK-DAG: NormAbsorbed {{.*}}layer_norm + cast in each of the 1 products that use it: {{.*}} together, {{.*}} apart

// The normalized rows are the residual, too.
// CHECK-LABEL: func.func @residual
// CHECK: sinter.fusion rows
// CHECK: sinter.fusion gemm
func.func @residual(%x: tensor<1x8xf32>, %g: tensor<8xf32>, %w: tensor<4x8xf32>) -> (tensor<1x8xf32>, tensor<1x4xf32>)
    attributes {sinter.entry} {
  %0 = sinter.fusion rows(%x, %g : tensor<1x8xf32>, tensor<8xf32>) -> (tensor<1x8xf32>) {
  ^bb0(%a: tensor<1x8xf32>, %b: tensor<8xf32>):
    %2 = sinter.rms_norm %a, %b {eps = 1.0e-5} : (tensor<1x8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
    sinter.yield %2 : tensor<1x8xf32>
  }
  %1 = sinter.fusion gemm(%0, %w : tensor<1x8xf32>, tensor<4x8xf32>) -> (tensor<1x4xf32>) {
  ^bb0(%a: tensor<1x8xf32>, %b: tensor<4x8xf32>):
    %2 = sinter.matmul %a, %b {transpose_rhs} : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
    sinter.yield %2 : tensor<1x4xf32>
  }
  return %0, %1 : tensor<1x8xf32>, tensor<1x4xf32>
}

// Eight rows for each of the hundreds of blocks of weights that are not transposed take longer than a
// kernel for them.
// CHECK-LABEL: func.func @wide
// CHECK: sinter.fusion rows
// CHECK: sinter.fusion gemm
func.func @wide(%x: tensor<8x2048xf32>, %g: tensor<2048xf32>, %w: tensor<2048x32768xbf16>) -> tensor<8x32768xf32>
    attributes {sinter.entry} {
  %0 = sinter.fusion rows(%x, %g : tensor<8x2048xf32>, tensor<2048xf32>) -> (tensor<8x2048xbf16>) {
  ^bb0(%a: tensor<8x2048xf32>, %b: tensor<2048xf32>):
    %2 = sinter.layer_norm %a, %b {eps = 1.0e-5} : (tensor<8x2048xf32>, tensor<2048xf32>) -> tensor<8x2048xf32>
    %3 = sinter.cast %2 : (tensor<8x2048xf32>) -> tensor<8x2048xbf16>
    sinter.yield %3 : tensor<8x2048xbf16>
  }
  %1 = sinter.fusion gemm(%0, %w : tensor<8x2048xbf16>, tensor<2048x32768xbf16>) -> (tensor<8x32768xf32>) {
  ^bb0(%a: tensor<8x2048xbf16>, %b: tensor<2048x32768xbf16>):
    %2 = sinter.matmul %a, %b : (tensor<8x2048xbf16>, tensor<2048x32768xbf16>) -> tensor<8x32768xf32>
    sinter.yield %2 : tensor<8x32768xf32>
  }
  return %1 : tensor<8x32768xf32>
}

// Adding before the norm is more than the product takes.
// CHECK-LABEL: func.func @add
// CHECK: sinter.fusion rows
func.func @add(%x: tensor<1x8xf32>, %g: tensor<8xf32>, %w: tensor<4x8xf32>) -> tensor<1x4xf32>
    attributes {sinter.entry} {
  %0 = sinter.fusion rows(%x, %g : tensor<1x8xf32>, tensor<8xf32>) -> (tensor<1x8xf32>) {
  ^bb0(%a: tensor<1x8xf32>, %b: tensor<8xf32>):
    %2 = sinter.add %a, %a : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    %3 = sinter.rms_norm %2, %b {eps = 1.0e-5} : (tensor<1x8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
    sinter.yield %3 : tensor<1x8xf32>
  }
  %1 = sinter.fusion gemm(%0, %w : tensor<1x8xf32>, tensor<4x8xf32>) -> (tensor<1x4xf32>) {
  ^bb0(%a: tensor<1x8xf32>, %b: tensor<4x8xf32>):
    %2 = sinter.matmul %a, %b {transpose_rhs} : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
    sinter.yield %2 : tensor<1x4xf32>
  }
  return %1 : tensor<1x4xf32>
}
