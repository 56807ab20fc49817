// RUN: sinter-opt %s --sinter-lower-kernels | FileCheck %s

// Library GEMMs and packing are the runtime's; entries are no kernels.

// CHECK-NOT: module @kernels
// CHECK: func.func private @pack
// CHECK-NOT: sinter.grid
func.func private @pack(%x: tensor<8x64xf32>) -> tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
    attributes {sinter.kernel = "pack"} {
  %0 = sinter.pack %x : (tensor<8x64xf32>) -> tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
  return %0 : tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
}

func.func @prefill(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sinter.entry} {
  return %x : tensor<8xf32>
}
// CHECK-NOT: module @kernels
