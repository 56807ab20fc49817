// RUN: sinter-opt %s --sinter-lower-kernels-to-llvm | FileCheck %s

// CHECK: func.func @entry
// CHECK-NOT: llvm.func
func.func @entry(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
