// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @adamw_c1(%p: tensor<4xf32>, %s: tensor<1xf32>) {
  // expected-error @below {{expected scalars of the parameter's element type, got 'tensor<1xf32>'}}
  %r:3 = sinter.adamw %p, %p, %p, %p, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw_c2_beta(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{expected betas in [0, 1) and neither a negative eps nor weight decay}}
  %r:3 = sinter.adamw %p, %p, %p, %p, %s, %s, %s, %s {beta1 = 1.0, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw_c2_decay(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{expected betas in [0, 1) and neither a negative eps nor weight decay}}
  %r:3 = sinter.adamw %p, %p, %p, %p, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = -0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw_c3(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{expected cleared to have the gradient's type, got 'tensor<5xf32>'}}
  %r:4 = sinter.adamw %p, %p, %p, %p, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5xf32>)
  return
}

// -----

func.func @adamw_c4_shape(%p: tensor<4xf32>, %m: tensor<5xbf16>, %s: tensor<f32>) {
  // expected-error @below {{expected m and v of the parameter's type, or in bf16 instead of f32, got 'tensor<5xbf16>'}}
  %r:3 = sinter.adamw %p, %p, %m, %m, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<5xbf16>, tensor<5xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<5xbf16>, tensor<5xbf16>)
  return
}

// -----

func.func @adamw_c4_element(%p: tensor<4xf32>, %m: tensor<4xf16>, %s: tensor<f32>) {
  // expected-error @below {{expected m and v of the parameter's type, or in bf16 instead of f32, got 'tensor<4xf16>'}}
  %r:3 = sinter.adamw %p, %p, %m, %m, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf16>, tensor<4xf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf16>, tensor<4xf16>)
  return
}

// -----

func.func @adamw_c4_parameter(%p: tensor<4xf64>, %m: tensor<4xbf16>, %s: tensor<f64>) {
  // expected-error @below {{expected m and v of the parameter's type, or in bf16 instead of f32, got 'tensor<4xbf16>'}}
  %r:3 = sinter.adamw %p, %p, %m, %m, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4xf64>, tensor<4xf64>, tensor<4xbf16>, tensor<4xbf16>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf64>, tensor<4xbf16>, tensor<4xbf16>)
  return
}

// -----

func.func @adamw_c5_none(%p: tensor<4xf32>, %m: tensor<4xbf16>, %s: tensor<f32>) {
  // expected-error @below {{expected a seed and a tag of type 'tensor<2xi32>' exactly where m and v are narrower than the parameter}}
  %r:3 = sinter.adamw %p, %p, %m, %m, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16>)
  return
}

// -----

func.func @adamw_c5_needless(%p: tensor<4xf32>, %w: tensor<2xi32>, %s: tensor<f32>) {
  // expected-error @below {{expected a seed and a tag of type 'tensor<2xi32>' exactly where m and v are narrower than the parameter}}
  %r:3 = sinter.adamw %p, %p, %p, %p, %s, %s, %s, %s, %w, %w {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @sgd_c1(%p: tensor<4xf32>, %s: tensor<f64>, %v: tensor<4xf32>) {
  // expected-error @below {{expected scalars of the parameter's element type, got 'tensor<f64>'}}
  %r:2 = sinter.sgd %p, %p, %s, %s, %v {momentum = 0.9, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.0}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @sgd_c2(%p: tensor<4xf32>, %s: tensor<f32>, %v: tensor<4xf32>) {
  // expected-error @below {{expected a momentum in [0, 1) and no negative weight decay}}
  %r:2 = sinter.sgd %p, %p, %s, %s, %v {momentum = 1.5, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.0}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @sgd_c3(%p: tensor<4xf32>, %s: tensor<f32>, %v: tensor<4xf32>) {
  // expected-error @below {{expected cleared to have the gradient's type, got 'tensor<f32>'}}
  %r:3 = sinter.sgd %p, %p, %s, %s, %v {momentum = 0.9, resultSegmentSizes = array<i32: 1, 1, 1>, weight_decay = 0.0}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>)
  return
}

// -----

func.func @sgd_c4_no_velocity(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{expected a velocity of the parameter's type, or in bf16 instead of f32, and its next value, where there is momentum}}
  %r = sinter.sgd %p, %p, %s, %s {momentum = 0.9, resultSegmentSizes = array<i32: 1, 0, 0>, weight_decay = 0.0}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>)
  return
}

// -----

func.func @sgd_c4_no_next(%p: tensor<4xf32>, %s: tensor<f32>, %v: tensor<4xf32>) {
  // expected-error @below {{expected a velocity of the parameter's type, or in bf16 instead of f32, and its next value, where there is momentum}}
  %r = sinter.sgd %p, %p, %s, %s, %v {momentum = 0.9, resultSegmentSizes = array<i32: 1, 0, 0>, weight_decay = 0.0}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>)
  return
}

// -----

func.func @sgd_c4_other_type(%p: tensor<4xf32>, %s: tensor<f32>, %v: tensor<5xf32>) {
  // expected-error @below {{expected a velocity of the parameter's type, or in bf16 instead of f32, and its next value, where there is momentum}}
  %r:2 = sinter.sgd %p, %p, %s, %s, %v {momentum = 0.9, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.0}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<5xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @sgd_c4_other_next(%p: tensor<4xf32>, %s: tensor<f32>, %v: tensor<4xbf16>) {
  // expected-error @below {{expected a velocity of the parameter's type, or in bf16 instead of f32, and its next value, where there is momentum}}
  %r:2 = sinter.sgd %p, %p, %s, %s, %v {momentum = 0.9, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.0}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @square_sum_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected the operand's type without its last dimension}}
  %0 = sinter.square_sum %x : (tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @square_sum_c2(%x: tensor<4x8xf32>, %s: tensor<8xf32>) {
  // expected-error @below {{expected into to have the result's type, got 'tensor<8xf32>'}}
  %0 = sinter.square_sum %x, %s : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}
