// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels -verify-diagnostics

func.func private @wide(%x: tensor<4x8xf64>, %w: tensor<2x8x8xf64>, %o: tensor<3xi32>) -> tensor<4x8xf64>
    attributes {sinter.kernel = "grouped_gemm"} {
  // expected-error @below {{expected operands of f32, bf16 or f16, got 'f64'}}
  %0 = sinter.grouped_matmul %x, %w, %o : (tensor<4x8xf64>, tensor<2x8x8xf64>, tensor<3xi32>) -> tensor<4x8xf64>
  return %0 : tensor<4x8xf64>
}

// -----

// expected-error @below {{expected a product of groups to be alone in its kernel}}
func.func private @beside(%x: tensor<4x8xf32>, %w: tensor<2x8x8xf32>, %o: tensor<3xi32>) -> tensor<4x8xf32>
    attributes {sinter.kernel = "grouped_gemm"} {
  %0 = sinter.grouped_matmul %x, %w, %o : (tensor<4x8xf32>, tensor<2x8x8xf32>, tensor<3xi32>) -> tensor<4x8xf32>
  %1 = sinter.silu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

func.func private @choice(%x: tensor<4x8xf64>) -> (tensor<4x2xf64>, tensor<4x2xi32>)
    attributes {sinter.kernel = "routing"} {
  // expected-error @below {{expected numbers of at most 32 bits, got 'tensor<4x8xf64>'}}
  %0:2 = sinter.top_k %x : (tensor<4x8xf64>) -> (tensor<4x2xf64>, tensor<4x2xi32>)
  return %0#0, %0#1 : tensor<4x2xf64>, tensor<4x2xi32>
}

// -----

// expected-error @below {{expected a choice of experts to be alone in its kernel}}
func.func private @choice_beside(%x: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    attributes {sinter.kernel = "routing"} {
  %0:2 = sinter.top_k %x : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  %1 = sinter.silu %0#0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %1, %0#1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func private @columns(%x: tensor<4x32xf32>, %w: tensor<2x32x8xi8>, %o: tensor<3xi32>, %s: tensor<2x1x8xf32>) -> tensor<4x8xf32>
    attributes {sinter.kernel = "grouped_gemm"} {
  // expected-error @below {{expected rows of integers, those of four bits in one panel, got 'tensor<2x32x8xi8>'}}
  %0 = sinter.grouped_matmul %x, %w, %o scales %s : (tensor<4x32xf32>, tensor<2x32x8xi8>, tensor<3xi32>, tensor<2x1x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func private @unpacked(%x: tensor<4x32xf32>, %w: tensor<2x8x32xi4>, %o: tensor<3xi32>, %s: tensor<2x8x1xf32>) -> tensor<4x8xf32>
    attributes {sinter.kernel = "grouped_gemm"} {
  // expected-error @below {{expected rows of integers, those of four bits in one panel, got 'tensor<2x8x32xi4>'}}
  %0 = sinter.grouped_matmul %x, %w, %o scales %s {transpose_rhs} : (tensor<4x32xf32>, tensor<2x8x32xi4>, tensor<3xi32>, tensor<2x8x1xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func private @scales(%x: tensor<4x32xf32>, %w: tensor<2x8x32xi8>, %o: tensor<3xi32>, %s: tensor<2x8x1xf64>) -> tensor<4x8xf32>
    attributes {sinter.kernel = "grouped_gemm"} {
  // expected-error @below {{expected scales of f32, bf16 or f16, got 'f64'}}
  %0 = sinter.grouped_matmul %x, %w, %o scales %s {transpose_rhs} : (tensor<4x32xf32>, tensor<2x8x32xi8>, tensor<3xi32>, tensor<2x8x1xf64>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func private @minima(%x: tensor<4x32xf32>, %w: tensor<2x8x32xi8>, %o: tensor<3xi32>, %s: tensor<2x8x1xf16>, %m: tensor<2x8x1xf16>) -> tensor<4x8xf32>
    attributes {sinter.kernel = "grouped_gemm"} {
  // expected-error @below {{expected minima of f32, got}}
  %0 = sinter.grouped_matmul %x, %w, %o scales %s minima %m {transpose_rhs}
    : (tensor<4x32xf32>, tensor<2x8x32xi8>, tensor<3xi32>, tensor<2x8x1xf16>, tensor<2x8x1xf16>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
