// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels | FileCheck %s

// Matrices one after another, rounded: a block has 1024 times 16 bytes of the wider type, if these
// divide a matrix.
// CHECK: func.func private @stack({{.*}} attributes {sinter.block = 256 : i64, sinter.grid = 9 : i64
func.func private @stack(%0: tensor<16x200xf32>, %1: tensor<16x200xf32>, %2: tensor<16x200xf32>) -> tensor<9x16x200xbf16>
    attributes {sinter.kernel = "stack"} {
  %3 = sinter.concat %0, %1, %2, %0, %1, %2, %0, %1, %0 {dim = 0 : i64}
    : (tensor<16x200xf32>, tensor<16x200xf32>, tensor<16x200xf32>, tensor<16x200xf32>, tensor<16x200xf32>, tensor<16x200xf32>, tensor<16x200xf32>, tensor<16x200xf32>, tensor<16x200xf32>) -> tensor<144x200xf32>
  %4 = sinter.reshape %3 : (tensor<144x200xf32>) -> tensor<9x16x200xf32>
  %5 = sinter.cast %4 : (tensor<9x16x200xf32>) -> tensor<9x16x200xbf16>
  return %5 : tensor<9x16x200xbf16>
}
// CHECK: func.func private @stack_bytes({{.*}} attributes {sinter.block = 256 : i64, sinter.grid = 12 : i64
func.func private @stack_bytes(%0: tensor<23x90xi4>, %1: tensor<23x90xi4>) -> tensor<92x90xi4>
    attributes {sinter.kernel = "stack"} {
  %2 = sinter.concat %0, %1, %1, %0 {dim = 0 : i64}
    : (tensor<23x90xi4>, tensor<23x90xi4>, tensor<23x90xi4>, tensor<23x90xi4>) -> tensor<92x90xi4>
  return %2 : tensor<92x90xi4>
}

// CHECK-LABEL: module @kernels
// CHECK: func.func private @stack(
// CHECK-SAME: arguments = array<i64: 3, 0, 1, 2, 0, 1, 2, 0, 1, 0>
// CHECK-SAME: function = "stack", header = "stack.cuh"
// CHECK-SAME: parameters = {Element = f32, Out = bf16, parts = 9 : i64, size = 3200 : i64}
// CHECK: func.func private @stack_bytes(
// CHECK-SAME: Element = i8, Out = i8, parts = 4 : i64, size = 2070 : i64
