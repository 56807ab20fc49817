// RUN: sinter-opt %s --sinter-outline-kernels | FileCheck %s

#panels = #sinter.panels<width = 64, interleave = 1, depth = 16>

// What the library and the packer do is a command of its own, not a kernel.
// CHECK-LABEL: func.func @entry
// CHECK: sinter.fusion pack
// CHECK: sinter.fusion library_gemm
// CHECK-NOT: sinter.call_kernel
func.func @entry(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>)
    -> (tensor<4x16xf32>, tensor<8x16xf32, #panels>) attributes {sinter.entry} {
  %0 = sinter.fusion pack(%w : tensor<8x16xf32>) -> (tensor<8x16xf32, #panels>) {
  ^bb0(%a: tensor<8x16xf32>):
    %1 = sinter.pack %a : (tensor<8x16xf32>) -> tensor<8x16xf32, #panels>
    sinter.yield %1 : tensor<8x16xf32, #panels>
  }
  %2 = sinter.fusion library_gemm(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) -> (tensor<4x16xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>):
    %3 = sinter.matmul %a, %b : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    sinter.yield %3 : tensor<4x16xf32>
  }
  return %2, %0 : tensor<4x16xf32>, tensor<8x16xf32, #panels>
}
