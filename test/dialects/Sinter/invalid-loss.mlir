// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @linear_cross_entropy_c1(%h: tensor<4x8xf32>, %w: tensor<8x16xf32>, %t: tensor<3xi32>) {
  // expected-error @below {{expected hidden [n, d], targets [n] and a result [n], got 'tensor<4x8xf32>', 'tensor<3xi32>' -> 'tensor<4xf32>'}}
  %0 = sinter.linear_cross_entropy %h, %w, %t {chunk = 2 : i64}
     : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<3xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @linear_cross_entropy_c2(%h: tensor<4x8xf32>, %w: tensor<8x16xf32>, %t: tensor<4xi32>) {
  // expected-error @below {{expected a weight of hidden's width and a bias of the classes, got 'tensor<8x16xf32>'}}
  %0 = sinter.linear_cross_entropy %h, %w, %t {chunk = 2 : i64, transpose_weight}
     : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @linear_cross_entropy_c2_bias(%h: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<8xf32>, %t: tensor<4xi32>) {
  // expected-error @below {{expected a weight of hidden's width and a bias of the classes}}
  %0 = sinter.linear_cross_entropy %h, %w, %b, %t {chunk = 2 : i64}
     : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @linear_cross_entropy_c3(%h: tensor<4x8xf32>, %w: tensor<8x16xf32>, %t: tensor<4xi32>) {
  // expected-error @below {{expected chunk to be positive, got 0}}
  %0 = sinter.linear_cross_entropy %h, %w, %t {chunk = 0 : i64}
     : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @linear_cross_entropy_c4(%h: tensor<4x8xf32>, %w: tensor<8x16xf32>, %t: tensor<4xi32>) {
  // expected-error @below {{expected softcap to be positive}}
  %0 = sinter.linear_cross_entropy %h, %w, %t {chunk = 2 : i64, softcap = 0.0 : f64}
     : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @linear_cross_entropy_c5(%h: tensor<4x8xf32>, %w: tensor<8x16xf32>, %t: tensor<4xi32>) {
  // expected-error @below {{expected z_loss not to be negative}}
  %0 = sinter.linear_cross_entropy %h, %w, %t {chunk = 2 : i64, z_loss = -1.0 : f64}
     : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}
