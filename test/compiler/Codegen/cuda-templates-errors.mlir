// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels -verify-diagnostics

// expected-error @below {{expected the gradients of keys and values, or those of queries}}
func.func private @all(%q: tensor<1x8x2x16xf32>, %l: tensor<1x8x2xf32>)
    -> (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>) attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2xf32>, tensor<1x8x2xf32>)
      -> (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>
}

// -----

func.func private @part(%g0: tensor<1x8x64xf32>, %q: tensor<1x8x2x16xf32>, %l: tensor<1x8x2xf32>)
    -> tensor<1x8x2x16xf32> attributes {sinter.kernel = "attention_grad"} {
  %g1 = sinter.slice %g0 {offsets = array<i64: 0, 0, 32>} : (tensor<1x8x64xf32>) -> tensor<1x8x32xf32>
  %g = sinter.reshape %g1 : (tensor<1x8x32xf32>) -> tensor<1x8x2x16xf32>
  // expected-error @below {{expected gradients to be dense}}
  %0:3 = sinter.attention_grad %q, %q, %q, %g, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2xf32>, tensor<1x8x2xf32>)
      -> (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
  return %0#0 : tensor<1x8x2x16xf32>
}

// -----

func.func private @twice(%q: tensor<1x8x2x16xf32>) -> tensor<1x8x2x16xf32> attributes {sinter.kernel = "attention"} {
  // expected-error @below {{expected a result that is rounded once}}
  %0 = sinter.attention %q, %q, %q {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>) -> tensor<1x8x2x16xf32>
  %1 = sinter.cast %0 : (tensor<1x8x2x16xf32>) -> tensor<1x8x2x16xbf16>
  %2 = sinter.cast %1 : (tensor<1x8x2x16xbf16>) -> tensor<1x8x2x16xf32>
  return %2 : tensor<1x8x2x16xf32>
}

// -----

// expected-error @below {{expected one product of plain matrices and a chain of post-ops}}
func.func private @panels(%x: tensor<4x8xf32>, %w: tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>)
    -> tensor<4x16xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// expected-error @below {{expected an op of attention in the kernel}}
func.func private @none(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// expected-error @below {{expected an embedding_grad to be a kernel of its own}}
func.func private @fused(%ids: tensor<5xi32>, %g: tensor<5x8xf32>) -> tensor<7x8xf32> attributes {sinter.kernel = "scatter"} {
  %0 = sinter.embedding_grad %ids, %g {rows = 7 : i64} : (tensor<5xi32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  %1 = sinter.relu %0 : (tensor<7x8xf32>) -> tensor<7x8xf32>
  return %1 : tensor<7x8xf32>
}

// -----

// expected-error @below {{expected a sample to be a kernel of its own}}
func.func private @sample(%l: tensor<1x8xf32>, %f: tensor<1xf32>, %i: tensor<1xi32>, %s: tensor<1x2xi32>) -> tensor<1xi32> attributes {sinter.kernel = "sampling"} {
  %0 = sinter.relu %l : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %1 = sinter.sample %0, %f, %i, %f, %f, %s, %i, %i
      : (tensor<1x8xf32>, tensor<1xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xf32>, tensor<1x2xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
  return %1 : tensor<1xi32>
}

// -----

func.func private @scales_of_a_part(%q: tensor<1x8x2x16xf32>, %k: tensor<1x8x2x16xi8>, %s: tensor<1x8x4x1xf32>)
    -> tensor<1x8x2x16xf32> attributes {sinter.kernel = "attention"} {
  %t = sinter.slice %s {offsets = array<i64: 0, 0, 0, 0>} : (tensor<1x8x4x1xf32>) -> tensor<1x8x2x1xf32>
  // expected-error @below {{expected scales of keys to be dense}}
  %0 = sinter.attention %q, %k, %k, %t, %t {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1>}
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xi8>, tensor<1x8x2x16xi8>, tensor<1x8x2x1xf32>, tensor<1x8x2x1xf32>) -> tensor<1x8x2x16xf32>
  return %0 : tensor<1x8x2x16xf32>
}

// -----

func.func private @widest_gradient(%q: tensor<1x8x2x513xf32>, %l: tensor<1x8x2xf32>) -> tensor<1x8x2x513xf32>
    attributes {sinter.kernel = "attention_grad"} {
  // expected-error @below {{expected heads of 512 elements at the most, got 513}}
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x8x2x513xf32>, tensor<1x8x2x513xf32>, tensor<1x8x2x513xf32>, tensor<1x8x2x513xf32>, tensor<1x8x2xf32>, tensor<1x8x2xf32>)
      -> (tensor<1x8x2x513xf32>, tensor<1x8x2x513xf32>, tensor<1x8x2x513xf32>)
  return %0#0 : tensor<1x8x2x513xf32>
}

// -----

func.func private @widest(%q: tensor<1x8x2x577xf32>) -> tensor<1x8x2x577xf32> attributes {sinter.kernel = "attention"} {
  // expected-error @below {{expected heads of 576 elements at the most, got 577}}
  %0 = sinter.attention %q, %q, %q {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<1x8x2x577xf32>, tensor<1x8x2x577xf32>, tensor<1x8x2x577xf32>) -> tensor<1x8x2x577xf32>
  return %0 : tensor<1x8x2x577xf32>
}
