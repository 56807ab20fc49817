// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cpu:x86-64-v4 --sinter-lower-kernels --verify-diagnostics

func.func private @types(%q: tensor<1x4x2x8xf32>, %k: tensor<1x32x2x8xf16>, %v: tensor<1x32x2x8xf16>) -> tensor<1x4x2x8xf32>
    attributes {sinter.kernel = "attention"} {
  // expected-error @below {{expected keys and values of f32, bf16 or 8 bits, got 'f16'}}
  %0 = sinter.attention %q, %k, %v {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf32>, tensor<1x32x2x8xf16>, tensor<1x32x2x8xf16>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}

// -----

func.func private @queries(%q: tensor<1x4x2x8xf16>, %k: tensor<1x32x2x8xf32>, %v: tensor<1x32x2x8xf32>) -> tensor<1x4x2x8xf32>
    attributes {sinter.kernel = "attention"} {
  // expected-error @below {{expected queries of f32 or bf16, got 'f16'}}
  %0 = sinter.attention %q, %k, %v {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf16>, tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}

// -----

func.func private @key_layout(%q: tensor<1x4x2x8xf32>, %k: tensor<1x32x2x8xf32, #sinter.head_major>, %v: tensor<1x32x2x8xf32>) -> tensor<1x4x2x8xf32>
    attributes {sinter.kernel = "attention"} {
  // expected-error @below {{expected keys dense or in key_panels, got}}
  %0 = sinter.attention %q, %k, %v {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf32>, tensor<1x32x2x8xf32, #sinter.head_major>, tensor<1x32x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}

// -----

func.func private @key_width(%q: tensor<1x4x2x8xf32>, %k: tensor<1x32x2x8xf32, #sinter.key_panels<width = 8, interleave = 1>>, %v: tensor<1x32x2x8xf32>) -> tensor<1x4x2x8xf32>
    attributes {sinter.kernel = "attention"} {
  // expected-error @below {{expected key_panels of a multiple of 16 positions with interleave 1, or 2 for bf16, got}}
  %0 = sinter.attention %q, %k, %v {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf32>, tensor<1x32x2x8xf32, #sinter.key_panels<width = 8, interleave = 1>>, tensor<1x32x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}

// -----

func.func private @key_pairs(%q: tensor<1x4x2x8xf32>, %k: tensor<1x32x2x8xf32, #sinter.key_panels<width = 16, interleave = 2>>, %v: tensor<1x32x2x8xf32>) -> tensor<1x4x2x8xf32>
    attributes {sinter.kernel = "attention"} {
  // expected-error @below {{expected key_panels of a multiple of 16 positions with interleave 1, or 2 for bf16, got}}
  %0 = sinter.attention %q, %k, %v {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf32>, tensor<1x32x2x8xf32, #sinter.key_panels<width = 16, interleave = 2>>, tensor<1x32x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}

// -----

func.func private @value_layout(%q: tensor<1x4x2x8xf32>, %k: tensor<1x32x2x8xf32>, %v: tensor<1x32x2x8xf32, #sinter.key_panels<width = 16, interleave = 1>>) -> tensor<1x4x2x8xf32>
    attributes {sinter.kernel = "attention"} {
  // expected-error @below {{expected values dense or head_major, got}}
  %0 = sinter.attention %q, %k, %v {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf32>, tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32, #sinter.key_panels<width = 16, interleave = 1>>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}

// -----

// What is computed on the result is another kernel's.
// expected-error @below {{expected the result of an attention kernel to be the attention's, reshaped or cast}}
func.func private @computed(%q: tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %q, %q {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  %1 = sinter.relu %0 : (tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %1 : tensor<1x4x2x8xf32>
}

// -----

// expected-error @below {{expected one result of an attention kernel beside the logsumexp}}
func.func private @twice(%q: tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x4x16xf32>)
    attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %q, %q {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  %1 = sinter.reshape %0 : (tensor<1x4x2x8xf32>) -> tensor<1x4x16xf32>
  return %0, %1 : tensor<1x4x2x8xf32>, tensor<1x4x16xf32>
}

// -----

// expected-error @below {{expected the result of an attention kernel}}
func.func private @logsumexp_alone(%q: tensor<1x4x2x8xf32>) -> tensor<1x4x2xf32> attributes {sinter.kernel = "attention"} {
  %0, %1 = sinter.attention %q, %q, %q {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xf32>, tensor<1x4x2xf32>)
  return %1 : tensor<1x4x2xf32>
}

// -----

func.func private @strided(%q0: tensor<1x4x8x2xf32>, %k: tensor<1x32x2x8xf32>) -> tensor<1x4x2x8xf32> attributes {sinter.kernel = "attention"} {
  // expected-error @below {{expected an input of the kernel, or a strided part of one}}
  %q = sinter.transpose %q0 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<1x4x8x2xf32>) -> tensor<1x4x2x8xf32>
  %0 = sinter.attention %q, %k, %k {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x4x2x8xf32>, tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}
