// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-absorb-heads | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-absorb-heads | FileCheck %s --check-prefix=CPU

// Sixteen rows are for a kernel of tiles.
// CHECK-LABEL: func.func @many_rows
// CHECK: sinter.fusion gemm
// CHECK: sinter.fusion rows
func.func @many_rows(%x: tensor<1x16x32xf32>, %w: tensor<32x16xf32>, %start: tensor<1xi32>, %keys: tensor<1x16x1x8xf32>, %count: tensor<1xi32>, %values: tensor<1x16x1x8xf32>)
    -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>) attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w : tensor<1x16x32xf32>, tensor<32x16xf32>) -> (tensor<1x16x16xf32>) {
  ^bb0(%a: tensor<1x16x32xf32>, %b: tensor<32x16xf32>):
    %2 = sinter.matmul %a, %b : (tensor<1x16x32xf32>, tensor<32x16xf32>) -> tensor<1x16x16xf32>
    sinter.yield %2 : tensor<1x16x16xf32>
  }
  %1:2 = sinter.fusion rows(%0, %start, %keys, %count, %values : tensor<1x16x16xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>) -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>) {
  ^bb0(%a: tensor<1x16x16xf32>, %t: tensor<1xi32>, %k: tensor<1x16x1x8xf32>, %n: tensor<1xi32>, %v: tensor<1x16x1x8xf32>):
    %3 = sinter.slice %a {offsets = array<i64: 0, 0, 0>} : (tensor<1x16x16xf32>) -> tensor<1x16x8xf32>
    %4 = sinter.reshape %3 : (tensor<1x16x8xf32>) -> tensor<1x16x1x8xf32>
    %6 = sinter.cache_append %k, %4, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    %7 = sinter.slice %a {offsets = array<i64: 0, 0, 8>} : (tensor<1x16x16xf32>) -> tensor<1x16x8xf32>
    %8 = sinter.reshape %7 : (tensor<1x16x8xf32>) -> tensor<1x16x1x8xf32>
    %9 = sinter.cache_append %v, %8, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    sinter.yield %6, %9 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>
  }
  return %1#0, %1#1 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>
}

// What others read, too, has to be written.
// CHECK-LABEL: func.func @read_elsewhere
// CHECK: sinter.fusion gemm
// CHECK: sinter.fusion rows
// CPU-LABEL: func.func @read_elsewhere
// CPU: sinter.fusion gemm
// CPU: sinter.fusion rows
func.func @read_elsewhere(%x: tensor<1x1x32xf32>, %w: tensor<32x16xf32>, %start: tensor<1xi32>, %keys: tensor<1x16x1x8xf32>, %count: tensor<1xi32>, %values: tensor<1x16x1x8xf32>)
    -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>, tensor<1x1x16xf32>) attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w : tensor<1x1x32xf32>, tensor<32x16xf32>) -> (tensor<1x1x16xf32>) {
  ^bb0(%a: tensor<1x1x32xf32>, %b: tensor<32x16xf32>):
    %2 = sinter.matmul %a, %b : (tensor<1x1x32xf32>, tensor<32x16xf32>) -> tensor<1x1x16xf32>
    sinter.yield %2 : tensor<1x1x16xf32>
  }
  %1:2 = sinter.fusion rows(%0, %start, %keys, %count, %values : tensor<1x1x16xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>) -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>) {
  ^bb0(%a: tensor<1x1x16xf32>, %t: tensor<1xi32>, %k: tensor<1x16x1x8xf32>, %n: tensor<1xi32>, %v: tensor<1x16x1x8xf32>):
    %3 = sinter.slice %a {offsets = array<i64: 0, 0, 0>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %4 = sinter.reshape %3 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %6 = sinter.cache_append %k, %4, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    %7 = sinter.slice %a {offsets = array<i64: 0, 0, 8>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %8 = sinter.reshape %7 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %9 = sinter.cache_append %v, %8, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    sinter.yield %6, %9 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>
  }
  return %1#0, %1#1, %0 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>, tensor<1x1x16xf32>
}

// Keys are computed on before they are appended.
// CHECK-LABEL: func.func @computed_on
// CHECK: sinter.fusion gemm
// CHECK: sinter.fusion rows
func.func @computed_on(%x: tensor<1x1x32xf32>, %w: tensor<32x16xf32>, %start: tensor<1xi32>, %keys: tensor<1x16x1x8xf32>, %count: tensor<1xi32>, %values: tensor<1x16x1x8xf32>)
    -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>) attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w : tensor<1x1x32xf32>, tensor<32x16xf32>) -> (tensor<1x1x16xf32>) {
  ^bb0(%a: tensor<1x1x32xf32>, %b: tensor<32x16xf32>):
    %2 = sinter.matmul %a, %b : (tensor<1x1x32xf32>, tensor<32x16xf32>) -> tensor<1x1x16xf32>
    sinter.yield %2 : tensor<1x1x16xf32>
  }
  %1:2 = sinter.fusion rows(%0, %start, %keys, %count, %values : tensor<1x1x16xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>) -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>) {
  ^bb0(%a: tensor<1x1x16xf32>, %t: tensor<1xi32>, %k: tensor<1x16x1x8xf32>, %n: tensor<1xi32>, %v: tensor<1x16x1x8xf32>):
    %3 = sinter.slice %a {offsets = array<i64: 0, 0, 0>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %4 = sinter.reshape %3 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %5 = sinter.relu %4 : (tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %6 = sinter.cache_append %k, %5, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    %7 = sinter.slice %a {offsets = array<i64: 0, 0, 8>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %8 = sinter.reshape %7 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %9 = sinter.cache_append %v, %8, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    sinter.yield %6, %9 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>
  }
  return %1#0, %1#1 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>
}

// What a cache keeps is what was rounded before.
// CHECK-LABEL: func.func @rounded_twice
// CHECK: sinter.fusion gemm
// CHECK: sinter.fusion rows
func.func @rounded_twice(%x: tensor<1x1x32xf32>, %w: tensor<32x16xf32>, %start: tensor<1xi32>, %keys: tensor<1x16x1x8xf32>, %count: tensor<1xi32>, %values: tensor<1x16x1x8xf32>)
    -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>) attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w : tensor<1x1x32xf32>, tensor<32x16xf32>) -> (tensor<1x1x16xf32>) {
  ^bb0(%a: tensor<1x1x32xf32>, %b: tensor<32x16xf32>):
    %2 = sinter.matmul %a, %b : (tensor<1x1x32xf32>, tensor<32x16xf32>) -> tensor<1x1x16xf32>
    sinter.yield %2 : tensor<1x1x16xf32>
  }
  %1:2 = sinter.fusion rows(%0, %start, %keys, %count, %values : tensor<1x1x16xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>) -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>) {
  ^bb0(%a: tensor<1x1x16xf32>, %t: tensor<1xi32>, %k: tensor<1x16x1x8xf32>, %n: tensor<1xi32>, %v: tensor<1x16x1x8xf32>):
    %3 = sinter.slice %a {offsets = array<i64: 0, 0, 0>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %4 = sinter.reshape %3 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %5 = sinter.cast %4 : (tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xbf16>
    %6 = sinter.cache_append %k, %5, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x1x1x8xbf16>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    %7 = sinter.slice %a {offsets = array<i64: 0, 0, 8>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %8 = sinter.reshape %7 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %9 = sinter.cache_append %v, %8, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    sinter.yield %6, %9 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>
  }
  return %1#0, %1#1 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>
}

// The parts begin at positions of their own.
// CHECK-LABEL: func.func @two_starts
// CHECK: sinter.fusion gemm
// CHECK: sinter.fusion rows
func.func @two_starts(%x: tensor<1x1x32xf32>, %w: tensor<32x16xf32>, %start: tensor<1xi32>, %keys: tensor<1x16x1x8xf32>, %count: tensor<1xi32>, %values: tensor<1x16x1x8xf32>, %other: tensor<1xi32>)
    -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>) attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w : tensor<1x1x32xf32>, tensor<32x16xf32>) -> (tensor<1x1x16xf32>) {
  ^bb0(%a: tensor<1x1x32xf32>, %b: tensor<32x16xf32>):
    %2 = sinter.matmul %a, %b : (tensor<1x1x32xf32>, tensor<32x16xf32>) -> tensor<1x1x16xf32>
    sinter.yield %2 : tensor<1x1x16xf32>
  }
  %1:2 = sinter.fusion rows(%0, %start, %keys, %count, %values, %other : tensor<1x1x16xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>, tensor<1xi32>, tensor<1x16x1x8xf32>, tensor<1xi32>) -> (tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>) {
  ^bb0(%a: tensor<1x1x16xf32>, %t: tensor<1xi32>, %k: tensor<1x16x1x8xf32>, %n: tensor<1xi32>, %v: tensor<1x16x1x8xf32>, %u: tensor<1xi32>):
    %3 = sinter.slice %a {offsets = array<i64: 0, 0, 0>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %4 = sinter.reshape %3 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %6 = sinter.cache_append %k, %4, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    %7 = sinter.slice %a {offsets = array<i64: 0, 0, 8>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %8 = sinter.reshape %7 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %9 = sinter.cache_append %v, %8, %u, %n : (tensor<1x16x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    sinter.yield %6, %9 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>
  }
  return %1#0, %1#1 : tensor<1x16x1x8xf32>, tensor<1x16x1x8xf32>
}

// The kernel reads tables of f32.
// CHECK-LABEL: func.func @narrow_tables
// CHECK: sinter.fusion gemm
// CHECK: sinter.fusion rows
func.func @narrow_tables(%x: tensor<1x1x32xf32>, %w: tensor<32x16xf32>, %cos: tensor<16x4xbf16>, %sin: tensor<16x4xbf16>,
    %start: tensor<1xi32>, %keys: tensor<1x16x1x8xf32>, %count: tensor<1xi32>)
    -> (tensor<1x1x1x8xf32>, tensor<1x16x1x8xf32>) attributes {sinter.entry} {
  %0 = sinter.fusion gemm(%x, %w : tensor<1x1x32xf32>, tensor<32x16xf32>) -> (tensor<1x1x16xf32>) {
  ^bb0(%a: tensor<1x1x32xf32>, %b: tensor<32x16xf32>):
    %2 = sinter.matmul %a, %b : (tensor<1x1x32xf32>, tensor<32x16xf32>) -> tensor<1x1x16xf32>
    sinter.yield %2 : tensor<1x1x16xf32>
  }
  %1:2 = sinter.fusion rows(%0, %cos, %sin, %start, %keys, %count : tensor<1x1x16xf32>, tensor<16x4xbf16>, tensor<16x4xbf16>, tensor<1xi32>, tensor<1x16x1x8xf32>, tensor<1xi32>)
      -> (tensor<1x1x1x8xf32>, tensor<1x16x1x8xf32>) {
  ^bb0(%a: tensor<1x1x16xf32>, %c: tensor<16x4xbf16>, %s: tensor<16x4xbf16>, %t: tensor<1xi32>, %k: tensor<1x16x1x8xf32>, %n: tensor<1xi32>):
    %3 = sinter.slice %a {offsets = array<i64: 0, 0, 0>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %4 = sinter.reshape %3 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %5 = sinter.rotary %4, %c, %s, %t : (tensor<1x1x1x8xf32>, tensor<16x4xbf16>, tensor<16x4xbf16>, tensor<1xi32>) -> tensor<1x1x1x8xf32>
    %6 = sinter.slice %a {offsets = array<i64: 0, 0, 8>} : (tensor<1x1x16xf32>) -> tensor<1x1x8xf32>
    %7 = sinter.reshape %6 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
    %8 = sinter.cache_append %k, %7, %t, %n : (tensor<1x16x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x1x8xf32>
    sinter.yield %5, %8 : tensor<1x1x1x8xf32>, tensor<1x16x1x8xf32>
  }
  return %1#0, %1#1 : tensor<1x1x1x8xf32>, tensor<1x16x1x8xf32>
}
