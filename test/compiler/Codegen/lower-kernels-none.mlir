// RUN: sinter-opt %s --sinter-lower-kernels | FileCheck %s

// Entries, and functions that no entry calls as a kernel, are no kernels.

// CHECK-NOT: module @kernels
// CHECK: func.func private @reference
// CHECK-NOT: sinter.grid
func.func private @reference(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sinter.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func @prefill(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
  return %x : tensor<8xf32>
}
// CHECK-NOT: module @kernels
