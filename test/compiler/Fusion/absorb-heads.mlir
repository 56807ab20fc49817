// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-absorb-heads %remarks 2>&1 | FileCheck %s

// CHECK-DAG: HeadsAbsorbed {{.*}}Function=rotated | Remark="rotary + cast + rotary + cache_append + cache_append in the product that it reads: {{[0-9.]+}} us together, {{[0-9.]+}} us apart"
// CHECK-DAG: HeadsAbsorbed {{.*}}Function=only_appended

// Queries and keys are turned, keys and values appended.
// CHECK-LABEL: func.func @rotated
// CHECK-NEXT: %[[Y:.*]]:3 = sinter.fusion gemm(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7 :
// CHECK: sinter.matmul
// CHECK: sinter.rotary
// CHECK: sinter.cache_append
// CHECK: sinter.cache_append
// CHECK-NOT: sinter.fusion
// CHECK: return %[[Y]]#0, %[[Y]]#1, %[[Y]]#2
func.func @rotated(%x: tensor<1x1x32xbf16>, %w: tensor<32x32xbf16>, %cos: tensor<16x4xf32>,
    %sin: tensor<16x4xf32>, %start: tensor<1xi32>, %keys: tensor<1x16x1x8xbf16>,
    %count: tensor<1xi32>, %values: tensor<1x16x1x8xbf16>)
    -> (tensor<1x1x2x8xbf16>, tensor<1x16x1x8xbf16>, tensor<1x16x1x8xbf16>) attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w : tensor<1x1x32xbf16>, tensor<32x32xbf16>) -> (tensor<1x1x32xf32>) {
  ^bb0(%a: tensor<1x1x32xbf16>, %b: tensor<32x32xbf16>):
    %2 = sinter.matmul %a, %b {transpose_rhs} : (tensor<1x1x32xbf16>, tensor<32x32xbf16>) -> tensor<1x1x32xf32>
    sinter.yield %2 : tensor<1x1x32xf32>
  }
  %1:3 = sinter.fusion rows(%0, %cos, %sin, %start, %keys, %count, %values
      : tensor<1x1x32xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<1xi32>, tensor<1x16x1x8xbf16>, tensor<1xi32>, tensor<1x16x1x8xbf16>)
      -> (tensor<1x1x2x8xbf16>, tensor<1x16x1x8xbf16>, tensor<1x16x1x8xbf16>) {
  ^bb0(%a: tensor<1x1x32xf32>, %c: tensor<16x4xf32>, %s: tensor<16x4xf32>, %t: tensor<1xi32>, %k: tensor<1x16x1x8xbf16>, %n: tensor<1xi32>, %v: tensor<1x16x1x8xbf16>):
    %2 = sinter.slice %a {offsets = array<i64: 0, 0, 0>} : (tensor<1x1x32xf32>) -> tensor<1x1x16xf32>
    %3 = sinter.reshape %2 : (tensor<1x1x16xf32>) -> tensor<1x1x2x8xf32>
    %4 = sinter.rotary %3, %c, %s, %t : (tensor<1x1x2x8xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<1xi32>) -> tensor<1x1x2x8xf32>
    %5 = sinter.cast %4 : (tensor<1x1x2x8xf32>) -> tensor<1x1x2x8xbf16>
    %6 = sinter.slice %a {offsets = array<i64: 0, 0, 16>} : (tensor<1x1x32xf32>) -> tensor<1x1x8xf32>
    %7 = sinter.reshape %6 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %8 = sinter.rotary %7, %c, %s, %t : (tensor<1x1x1x8xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<1xi32>) -> tensor<1x1x1x8xf32>
    %9 = sinter.cache_append %k, %8, %t, %n : (tensor<1x16x1x8xbf16>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xbf16>
    %10 = sinter.slice %a {offsets = array<i64: 0, 0, 24>} : (tensor<1x1x32xf32>) -> tensor<1x1x8xf32>
    %11 = sinter.reshape %10 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %12 = sinter.cache_append %v, %11, %t, %n : (tensor<1x16x1x8xbf16>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xbf16>
    sinter.yield %5, %9, %12 : tensor<1x1x2x8xbf16>, tensor<1x16x1x8xbf16>, tensor<1x16x1x8xbf16>
  }
  return %1#0, %1#1, %1#2 : tensor<1x1x2x8xbf16>, tensor<1x16x1x8xbf16>, tensor<1x16x1x8xbf16>
}

// Equal halves that are appended are no gate.
// CHECK-LABEL: func.func @only_appended
// CHECK-NEXT: %[[Y:.*]]:2 = sinter.fusion gemm(
// CHECK-NOT: sinter.fusion
// CHECK: return %[[Y]]#1, %[[Y]]#0
func.func @only_appended(%x: tensor<1x1x32xf32>, %w: tensor<32x16xf32>, %start: tensor<1xi32>,
    %keys: tensor<1x16x1x8xf32>, %count: tensor<1xi32>, %values: tensor<1x16x1x8xf32>)
    -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>) attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w : tensor<1x1x32xf32>, tensor<32x16xf32>) -> (tensor<1x1x16xf32>) {
  ^bb0(%a: tensor<1x1x32xf32>, %b: tensor<32x16xf32>):
    %2 = sinter.matmul %a, %b : (tensor<1x1x32xf32>, tensor<32x16xf32>) -> tensor<1x1x16xf32>
    sinter.yield %2 : tensor<1x1x16xf32>
  }
  %1:2 = sinter.fusion rows(%0, %start, %keys, %count, %values
      : tensor<1x1x16xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>)
      -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>) {
  ^bb0(%a: tensor<1x1x16xf32>, %t: tensor<1xi32>, %k: tensor<1x16x1x8xf32>, %n: tensor<1xi32>, %v: tensor<1x16x1x8xf32>):
    %6 = sinter.slice %a {offsets = array<i64: 0, 0, 8>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %7 = sinter.reshape %6 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %9 = sinter.cache_append %v, %7, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    %10 = sinter.slice %a {offsets = array<i64: 0, 0, 0>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %11 = sinter.reshape %10 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %12 = sinter.cache_append %k, %11, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    sinter.yield %9, %12 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>
  }
  return %1#1, %1#0 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>
}
