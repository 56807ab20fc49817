// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels -verify-diagnostics

// expected-error @below {{expected matrices that are put together, and one result}}
func.func private @stacks(%x: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xbf16>) attributes {sinter.kernel = "stack"} {
  %0 = sinter.concat %x, %x {dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = sinter.cast %0 : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xbf16>
}

// -----

func.func private @sizes(%x: tensor<4x8xf32>, %y: tensor<2x8xf32>) -> tensor<6x8xf32> attributes {sinter.kernel = "stack"} {
  // expected-error @below {{expected arguments of one type}}
  %0 = sinter.concat %x, %y {dim = 0 : i64} : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}
