// RUN: sinter-opt %s --sinter-verify-cuda-codegen | FileCheck %s

// CHECK: func.func @code
// CHECK: func.func private @instance
module {
module @kernels {
func.func @code(%x: memref<4xf32>, %y: memref<4xf32>) {
  return
}
func.func private @instance(memref<4xf32>, memref<4xf32>) attributes {sinter.template = {}}
}
func.func private @code(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "rows", sinter.shared = 0 : i64} {
  return %x : tensor<4xf32>
}
func.func private @instance(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sinter.block = 128 : i64, sinter.grid = 1 : i64, sinter.kernel = "attention", sinter.shared = 0 : i64} {
  return %x : tensor<4xf32>
}
}
