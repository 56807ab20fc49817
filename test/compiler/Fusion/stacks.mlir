// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-form-fusions --sinter-isolate-ops | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v3 --sinter-form-fusions --sinter-isolate-ops | FileCheck %s --check-prefix=CPU

// More than eight matrices that are put together as they are in memory are a kernel of their own, and
// may be rounded behind; of elements that are computed, the rows generator makes it.
// CHECK-LABEL: func.func @experts
// CHECK: sinter.fusion stack
// CHECK: sinter.concat
// CHECK: sinter.cast
// CHECK: sinter.fusion grouped_gemm
// CPU-LABEL: func.func @experts
// CPU-NOT: sinter.fusion stack
func.func @experts(%x: tensor<4x16xbf16>, %o: tensor<10xi32>,
    %0: tensor<8x16xf32> {sinter.parameter = "e0"}, %1: tensor<8x16xf32> {sinter.parameter = "e1"},
    %2: tensor<8x16xf32> {sinter.parameter = "e2"}, %3: tensor<8x16xf32> {sinter.parameter = "e3"},
    %4: tensor<8x16xf32> {sinter.parameter = "e4"}, %5: tensor<8x16xf32> {sinter.parameter = "e5"},
    %6: tensor<8x16xf32> {sinter.parameter = "e6"}, %7: tensor<8x16xf32> {sinter.parameter = "e7"},
    %8: tensor<8x16xf32> {sinter.parameter = "e8"}) -> tensor<4x8xf32> attributes {sinter.entry} {
  %all = sinter.concat %0, %1, %2, %3, %4, %5, %6, %7, %8 {dim = 0 : i64}
    : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<72x16xf32>
  %m = sinter.reshape %all : (tensor<72x16xf32>) -> tensor<9x8x16xf32>
  %w = sinter.cast %m : (tensor<9x8x16xf32>) -> tensor<9x8x16xbf16>
  %y = sinter.grouped_matmul %x, %w, %o {transpose_rhs} : (tensor<4x16xbf16>, tensor<9x8x16xbf16>, tensor<10xi32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// What is computed beside is so in a kernel of its own.
// CHECK-LABEL: func.func @computed
// CHECK: sinter.fusion rows
// CHECK: sinter.fusion stack
// CHECK: sinter.concat
// CHECK-NOT: sinter.silu
// CHECK: sinter.yield
// CHECK: sinter.fusion rows
// CHECK: sinter.silu
func.func @computed(%0: tensor<8x16xf32>, %1: tensor<8x16xf32>) -> tensor<72x16xf32> attributes {sinter.entry} {
  %2 = sinter.exp %0 : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %all = sinter.concat %0, %1, %2, %0, %1, %2, %0, %1, %0 {dim = 0 : i64}
    : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<72x16xf32>
  %3 = sinter.silu %all : (tensor<72x16xf32>) -> tensor<72x16xf32>
  return %3 : tensor<72x16xf32>
}

// Columns side by side, parts of several sizes, single numbers, and few of them stay with the rows.
// CHECK-LABEL: func.func @others
// CHECK-NOT: sinter.fusion stack
func.func @others(%0: tensor<8x16xf32>, %1: tensor<4x16xf32>, %2: tensor<1xf32>)
    -> (tensor<8x144xf32>, tensor<68x16xf32>, tensor<9xf32>, tensor<64x16xf32>) attributes {sinter.entry} {
  %3 = sinter.concat %0, %0, %0, %0, %0, %0, %0, %0, %0 {dim = 1 : i64}
    : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x144xf32>
  %4 = sinter.concat %0, %0, %0, %0, %0, %0, %0, %0, %1 {dim = 0 : i64}
    : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<68x16xf32>
  %5 = sinter.concat %2, %2, %2, %2, %2, %2, %2, %2, %2 {dim = 0 : i64}
    : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<9xf32>
  %6 = sinter.concat %0, %0, %0, %0, %0, %0, %0, %0 {dim = 0 : i64}
    : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
  return %3, %4, %5, %6 : tensor<8x144xf32>, tensor<68x16xf32>, tensor<9xf32>, tensor<64x16xf32>
}
