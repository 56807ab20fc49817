// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @linear_attention_c1(%q: tensor<1x4x2x8xf32>, %v: tensor<1x5x4x6xf32>, %g: tensor<1x5x4xf32>) {
  // expected-error @below {{expected query and key [b, t, g, dk], value and a result [b, t, h, dv], got}}
  %0 = sinter.linear_attention %q, %q, %v, %g, %g {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x5x4x6xf32>, tensor<1x5x4xf32>, tensor<1x5x4xf32>) -> tensor<1x5x4x6xf32>
  return
}

// -----

func.func @linear_attention_c2(%q: tensor<1x4x2x8xf32>, %v: tensor<1x4x3x6xf32>, %g: tensor<1x4x3xf32>) {
  // expected-error @below {{expected 2 key heads to divide 3 value heads}}
  %0 = sinter.linear_attention %q, %q, %v, %g, %g {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x3x6xf32>, tensor<1x4x3xf32>, tensor<1x4x3xf32>) -> tensor<1x4x3x6xf32>
  return
}

// -----

func.func @linear_attention_c3(%q: tensor<1x4x2x8xf32>, %v: tensor<1x4x4x6xf32>, %g: tensor<1x4x4xf32>, %b: tensor<1x4x2xf32>) {
  // expected-error @below {{expected decay and beta to be [b, t, h]}}
  %0 = sinter.linear_attention %q, %q, %v, %g, %b {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x4x6xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>) -> tensor<1x4x4x6xf32>
  return
}

// -----

func.func @linear_attention_c4(%q: tensor<1x4x2x8xf32>, %v: tensor<1x4x4x6xf32>, %g: tensor<1x4x4xf32>, %s: tensor<1x4x8x6xf32>, %start: tensor<1xi32>) {
  // expected-error @below {{expected state and next of one type [b, h, dk, dv], start and count [b], or none of them}}
  %0, %1 = sinter.linear_attention %q, %q, %v, %g, %g, %s, %start {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>, scale = 1.0 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x4x6xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x8x6xf32>, tensor<1xi32>) -> (tensor<1x4x4x6xf32>, tensor<1x4x8x6xf32>)
  return
}

// -----

func.func @linear_attention_grad_c1(%q: tensor<1x4x2x8xf32>, %v: tensor<1x4x4x6xf32>, %g: tensor<1x4x4xf32>, %o: tensor<1x4x4x5xf32>) {
  // expected-error @below {{expected query and key [b, t, g, dk], value and gradient [b, t, h, dv], got}}
  %0:5 = sinter.linear_attention_grad %q, %q, %v, %g, %g, %o {scale = 1.0 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x4x6xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4x5xf32>)
      -> (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x4x6xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  return
}

// -----

func.func @linear_attention_grad_c1(%q: tensor<1x4x2x8xf32>, %v: tensor<1x4x4x6xf32>, %g: tensor<1x4x4xf32>) {
  // expected-error @below {{expected the gradient of 'tensor<1x4x4xf32>' to have its shape, got 'tensor<1x4x2xf32>'}}
  %0:5 = sinter.linear_attention_grad %q, %q, %v, %g, %g, %v {scale = 1.0 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x4x6xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4x6xf32>)
      -> (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x4x6xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>)
  return
}

// -----

func.func @linear_attention_grad_c2(%q: tensor<1x4x2x8xf32>, %v: tensor<1x4x3x6xf32>, %g: tensor<1x4x3xf32>) {
  // expected-error @below {{expected 2 key heads to divide 3 value heads}}
  %0:5 = sinter.linear_attention_grad %q, %q, %v, %g, %g, %v {scale = 1.0 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x3x6xf32>, tensor<1x4x3xf32>, tensor<1x4x3xf32>, tensor<1x4x3x6xf32>)
      -> (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x3x6xf32>, tensor<1x4x3xf32>, tensor<1x4x3xf32>)
  return
}

// -----

func.func @linear_attention_grad_c3(%q: tensor<1x4x2x8xf32>, %v: tensor<1x4x4x6xf32>, %g: tensor<1x4x4xf32>, %b: tensor<1x4x2xf32>) {
  // expected-error @below {{expected decay and beta to be [b, t, h]}}
  %0:5 = sinter.linear_attention_grad %q, %q, %v, %g, %b, %v {scale = 1.0 : f64}
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x4x6xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x4x6xf32>)
      -> (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x4x6xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>)
  return
}
