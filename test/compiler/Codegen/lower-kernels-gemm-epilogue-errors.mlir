// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cpu:x86-64-v4 --sinter-lower-kernels --verify-diagnostics

// expected-error @below {{expected results with the product's 4 rows and equal columns, got 'tensor<5xf32>'}}
func.func private @rows(%x: tensor<4x8xf32>, %w: tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>, %b: tensor<5xf32>) -> (tensor<4x64xf32>, tensor<5xf32>) attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32>
  %1 = sinter.relu %b : (tensor<5xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<4x64xf32>, tensor<5xf32>
}

// -----

// expected-error @below {{expected the results to depend on the matmul}}
func.func private @unused(%x: tensor<4x8xf32>, %w: tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>, %y: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32>
  %1 = sinter.relu %y : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----

func.func private @some_rows(%x: tensor<4x8xf32>, %w: tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<2x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32>
  // expected-error @below {{expected a slice of columns, got 'tensor<4x64xf32>' to 'tensor<2x64xf32>'}}
  %1 = sinter.slice %0 {offsets = array<i64: 0, 0>} : (tensor<4x64xf32>) -> tensor<2x64xf32>
  return %1 : tensor<2x64xf32>
}

// -----

func.func private @columns(%x: tensor<4x8xf32>, %w: tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>, %y: tensor<6x64xf32>) -> tensor<4x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32>
  // expected-error @below {{expected a slice of columns, got}}
  %1 = sinter.slice %y {offsets = array<i64: 1, 0>} : (tensor<6x64xf32>) -> tensor<4x64xf32>
  %2 = sinter.add %0, %1 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %2 : tensor<4x64xf32>
}

// -----

func.func private @other_rows(%x: tensor<4x8xf32>, %w: tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<2x4x64xf32> attributes {sinter.kernel = "gemm"} {
  // expected-error @below {{expected the product's elements to be used in their own rows}}
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32>
  %1 = sinter.broadcast %0 {dims = array<i64: 1, 2>} : (tensor<4x64xf32>) -> tensor<2x4x64xf32>
  return %1 : tensor<2x4x64xf32>
}

// -----

func.func private @numbers(%x: tensor<4x8xf32>, %w: tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32>
  // expected-error @below {{expected a splat of floating-point numbers}}
  %1 = sinter.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %2 = sinter.broadcast %1 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x64xf32>
  %3 = sinter.add %0, %2 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %3 : tensor<4x64xf32>
}

// -----

// expected-error @below {{expected an epilogue's input to be dense and of f32 or a 16-bit type, got}}
func.func private @layout(%x: tensor<4x8xf32>, %w: tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>, %y: tensor<4x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32>
  %1 = sinter.reshape %y : (tensor<4x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32>
  %2 = sinter.add %0, %1 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %2 : tensor<4x64xf32>
}

// -----

func.func private @two(%x: tensor<4x8xf32>, %w: tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32>
  // expected-error @below {{expected one matmul in a GEMM kernel}}
  %1 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32>
  %2 = sinter.add %0, %1 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return %2 : tensor<4x64xf32>
}

// -----

// expected-error @below {{expected a matmul in a GEMM kernel}}
func.func private @none(%y: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.relu %y : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

func.func private @computed_rhs(%x: tensor<4x8xf32>, %w0: tensor<8x64xf32>) -> tensor<4x64xf32> attributes {sinter.kernel = "gemm"} {
  %w = sinter.relu %w0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  // expected-error @below {{expected the matmul's rhs to be an input}}
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

func.func private @strided(%x0: tensor<8x4xf32>, %w: tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32> attributes {sinter.kernel = "gemm"} {
  // expected-error @below {{expected an input of the kernel, or a strided part of one}}
  %x = sinter.transpose %x0 {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

func.func private @type(%x: tensor<4x8xf16>, %w: tensor<8x64xf16>) -> tensor<4x64xf32> attributes {sinter.kernel = "gemm"} {
  // expected-error @below {{expected operands of f32, bf16 or i8, got 'f16'}}
  %0 = sinter.matmul %x, %w : (tensor<4x8xf16>, tensor<8x64xf16>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
