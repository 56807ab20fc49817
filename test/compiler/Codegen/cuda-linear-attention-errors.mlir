// RUN: sinter-opt %s --split-input-file --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels -verify-diagnostics

func.func private @wide(%q: tensor<1x2x1x4xf64>, %d: tensor<1x2x1xf64>) -> tensor<1x2x1x4xf64>
    attributes {sinter.kernel = "linear_attention"} {
  // expected-error @below {{expected numbers of at most 32 bits}}
  %0 = sinter.linear_attention %q, %q, %q, %d, %d {scale = 0.25, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x1x4xf64>, tensor<1x2x1x4xf64>, tensor<1x2x1x4xf64>, tensor<1x2x1xf64>, tensor<1x2x1xf64>) -> tensor<1x2x1x4xf64>
  return %0 : tensor<1x2x1x4xf64>
}

// -----

func.func private @long(%q: tensor<1x2x1x1025xf32>, %v: tensor<1x2x1x4xf32>, %d: tensor<1x2x1xf32>) -> tensor<1x2x1x4xf32>
    attributes {sinter.kernel = "linear_attention"} {
  // expected-error @below {{expected keys of 1024 elements at the most}}
  %0 = sinter.linear_attention %q, %q, %v, %d, %d {scale = 0.25, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x1x1025xf32>, tensor<1x2x1x1025xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>) -> tensor<1x2x1x4xf32>
  return %0 : tensor<1x2x1x4xf32>
}

// -----

// expected-error @below {{expected a linear attention to be alone in its kernel}}
func.func private @beside(%q: tensor<1x2x1x4xf32>, %d: tensor<1x2x1xf32>) -> tensor<1x2x1x4xf32>
    attributes {sinter.kernel = "linear_attention"} {
  %0 = sinter.linear_attention %q, %q, %q, %d, %d {scale = 0.25, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>}
    : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>) -> tensor<1x2x1x4xf32>
  %1 = sinter.relu %0 : (tensor<1x2x1x4xf32>) -> tensor<1x2x1x4xf32>
  return %1 : tensor<1x2x1x4xf32>
}

// -----

func.func private @narrow(%q: tensor<1x2x1x4xf32>, %d: tensor<1x2x1xf32>) -> tensor<1x2x1x4xbf16>
    attributes {sinter.kernel = "linear_attention"} {
  // expected-error @below {{expected gradients of f32, got 'tensor<1x2x1x4xbf16>'}}
  %0:5 = sinter.linear_attention_grad %q, %q, %q, %d, %d, %q {scale = 0.25}
    : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1x4xf32>)
    -> (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xbf16>, tensor<1x2x1xf32>, tensor<1x2x1xf32>)
  return %0#2 : tensor<1x2x1x4xbf16>
}

// -----

func.func private @without_value(%q: tensor<1x2x1x4xf32>, %d: tensor<1x2x1xf32>) -> tensor<1x2x1x4xf32>
    attributes {sinter.kernel = "linear_attention"} {
  // expected-error @below {{expected the gradient of the value to be a result}}
  %0:5 = sinter.linear_attention_grad %q, %q, %q, %d, %d, %q {scale = 0.25}
    : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1x4xf32>)
    -> (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>)
  return %0#0 : tensor<1x2x1x4xf32>
}

// -----

func.func private @long_values(%q: tensor<1x2x1x4xf32>, %v: tensor<1x2x1x1025xf32>, %d: tensor<1x2x1xf32>) -> tensor<1x2x1x1025xf32>
    attributes {sinter.kernel = "linear_attention"} {
  // expected-error @below {{expected values of 1024 elements at the most}}
  %0:5 = sinter.linear_attention_grad %q, %q, %v, %d, %d, %v {scale = 0.25}
    : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x1025xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x1x1025xf32>)
    -> (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x1025xf32>, tensor<1x2x1xf32>, tensor<1x2x1xf32>)
  return %0#2 : tensor<1x2x1x1025xf32>
}
