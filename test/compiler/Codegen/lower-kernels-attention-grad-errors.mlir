// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cpu:x86-64-v4 --sinter-lower-kernels --verify-diagnostics

// Sums are kept in f32 until they are whole.
func.func private @grad(%q: tensor<1x4x2x8xbf16>, %l: tensor<1x4x2xf32>) -> tensor<1x4x2x8xbf16> attributes {sinter.kernel = "attention_grad"} {
  // expected-error @below {{expected gradients of f32, got}}
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>, tensor<1x4x2x8xbf16>)
  return %0#0 : tensor<1x4x2x8xbf16>
}

// -----

// expected-error @below {{expected the results of an attention_grad kernel to be the op's}}
func.func private @grad(%q: tensor<1x4x2x8xf32>, %l: tensor<1x4x2xf32>) -> tensor<1x4x2x8xf32> attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
  %1 = sinter.relu %0#0 : (tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %1 : tensor<1x4x2x8xf32>
}

// -----

func.func private @grad(%q: tensor<1x4x2x8xf16>, %l: tensor<1x4x2xf32>) -> tensor<1x4x2x8xf16> attributes {sinter.kernel = "attention_grad"} {
  // expected-error @below {{expected queries of f32 or bf16, got 'f16'}}
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf16>, tensor<1x4x2x8xf16>, tensor<1x4x2x8xf16>, tensor<1x4x2x8xf16>, tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x2x8xf16>, tensor<1x4x2x8xf16>, tensor<1x4x2x8xf16>)
  %1 = sinter.cast %0#0 : (tensor<1x4x2x8xf16>) -> tensor<1x4x2x8xf32>
  return %0#0 : tensor<1x4x2x8xf16>
}
