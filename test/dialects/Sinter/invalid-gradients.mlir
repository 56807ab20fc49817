// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @rms_norm_grad_c1(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{expected parameters of the operand's last dimension}}
  %0:2 = sinter.rms_norm_grad %x, %w, %x {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<4xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @rms_norm_grad_c2(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{expected eps not to be negative}}
  %0:2 = sinter.rms_norm_grad %x, %w, %x {eps = -1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @rms_norm_grad_c4(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{expected blocks to divide 4 rows, got 3}}
  %0:2 = sinter.rms_norm_grad %x, %w, %x {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<3x8xf32>)
  return
}

// -----

func.func @rms_norm_grad_c4_none(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{expected blocks to divide 4 rows, got 0}}
  %0:2 = sinter.rms_norm_grad %x, %w, %x {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<0x8xf32>)
  return
}

// -----

func.func @rms_norm_grad_c3(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{expected partial sums of type 'tensor<1x8xf32>', got 'tensor<8xf32>'}}
  %0:2 = sinter.rms_norm_grad %x, %w, %x {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @layer_norm_grad_c1(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{expected parameters of the operand's last dimension}}
  %0:3 = sinter.layer_norm_grad %x, %w, %x {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<4xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @layer_norm_grad_c2(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{expected eps not to be negative}}
  %0:3 = sinter.layer_norm_grad %x, %w, %x {eps = -1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  return
}

// -----

func.func @layer_norm_grad_c4(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{expected blocks to divide 4 rows, got 3}}
  %0:3 = sinter.layer_norm_grad %x, %w, %x {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>)
  return
}

// -----

func.func @layer_norm_grad_c4_none(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{expected blocks to divide 4 rows, got 0}}
  %0:3 = sinter.layer_norm_grad %x, %w, %x {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<0x8xf32>, tensor<0x8xf32>)
  return
}

// -----

func.func @layer_norm_grad_c3(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{expected partial sums of type 'tensor<2x8xf32>', got 'tensor<8xf32>'}}
  %0:3 = sinter.layer_norm_grad %x, %w, %x {eps = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @cross_entropy_grad_c1(%x: tensor<4x8xf32>, %t: tensor<4xi32>, %g: tensor<8xf32>) {
  // expected-error @below {{expected logits [n, v], targets [n] and gradient [n]}}
  %0 = sinter.cross_entropy_grad %x, %t, %g : (tensor<4x8xf32>, tensor<4xi32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @cross_entropy_grad_c2(%x: tensor<4x8xbf16>, %t: tensor<4xi32>, %g: tensor<4xbf16>) {
  // expected-error @below {{expected a gradient of 'f32', got 'tensor<4xbf16>'}}
  %0 = sinter.cross_entropy_grad %x, %t, %g : (tensor<4x8xbf16>, tensor<4xi32>, tensor<4xbf16>) -> tensor<4x8xbf16>
  return
}

// -----

func.func @cross_entropy_grad_c4(%x: tensor<4x8xf32>, %t: tensor<4xi32>, %g: tensor<4xf32>) {
  // expected-error @below {{expected z_loss not to be negative}}
  %0 = sinter.cross_entropy_grad %x, %t, %g {z_loss = -1.0 : f64} : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @embedding_grad_c1(%i: tensor<4xi32>, %g: tensor<4x8xf32>) {
  // expected-error @below {{expected a gradient of ids' shape with d appended and a result [rows, d] of f32 or f64}}
  %0 = sinter.embedding_grad %i, %g {rows = 9 : i64} : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<10x8xf32>
  return
}

// -----

func.func @embedding_grad_c1_type(%i: tensor<4xi32>, %g: tensor<4x8xf32>) {
  // expected-error @below {{expected a gradient of ids' shape with d appended and a result [rows, d] of f32 or f64}}
  %0 = sinter.embedding_grad %i, %g {rows = 9 : i64} : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xbf16>
  return
}

// -----

func.func @embedding_grad_c3(%i: tensor<4xi32>, %g: tensor<4x8xf32>, %s: tensor<4xi32>) {
  // expected-error @below {{expected a start [1], got 'tensor<4xi32>'}}
  %0 = sinter.embedding_grad %i, %g from %s {rows = 9 : i64} : (tensor<4xi32>, tensor<4x8xf32>, tensor<4xi32>) -> tensor<9x8xf32>
  return
}

// -----

func.func @embedding_grad_c2(%i: tensor<4xi32>, %g: tensor<4x8xf32>, %t: tensor<10x8xf32>) {
  // expected-error @below {{expected into to have the result's type, got 'tensor<10x8xf32>'}}
  %0 = sinter.embedding_grad %i, %g, %t {rows = 9 : i64} : (tensor<4xi32>, tensor<4x8xf32>, tensor<10x8xf32>) -> tensor<9x8xf32>
  return
}
