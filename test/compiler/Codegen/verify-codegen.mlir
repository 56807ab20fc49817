// RUN: sinter-opt %s --sinter-verify-codegen | FileCheck %s

// CHECK: llvm.func @k
// CHECK: func.func private @k
module @kernels {
  llvm.func @k(%slices: !llvm.ptr, %begin: i64, %end: i64) {
    llvm.return
  }
}
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {sinter.kernel = "rows", sinter.grid = 4 : i64} {
  %0 = sinter.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
