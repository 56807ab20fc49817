// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @top_k_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected values of the operand's shape with k, from 1 to the length of a row, for its last dimension, of the same element type, got}}
  %0:2 = sinter.top_k %x : (tensor<4x8xf32>) -> (tensor<4x9xf32>, tensor<4x9xi32>)
  return
}

// -----

func.func @top_k_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected indices of values' shape, got}}
  %0:2 = sinter.top_k %x : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x3xi32>)
  return
}

// -----

func.func @route_c1(%ids: tensor<4x2xi32>) {
  // expected-error @below {{expected ids [t, k] and places of their shape, got}}
  %0:4 = sinter.route %ids : (tensor<4x2xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<2x4xi32>, tensor<5xi32>)
  return
}

// -----

func.func @route_c2(%ids: tensor<4x2xi32>) {
  // expected-error @below {{expected order and tokens [t * k], got}}
  %0:4 = sinter.route %ids : (tensor<4x2xi32>) -> (tensor<8xi32>, tensor<4xi32>, tensor<4x2xi32>, tensor<5xi32>)
  return
}

// -----

func.func @route_c3(%ids: tensor<4x2xi32>) {
  // expected-error @below {{expected offsets [e + 1] of one expert at least, got}}
  %0:4 = sinter.route %ids : (tensor<4x2xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<4x2xi32>, tensor<1xi32>)
  return
}

// -----

func.func @dispatch_c1(%x: tensor<4x6xf32>, %tokens: tensor<8xi32>, %places: tensor<4x2xi32>) {
  // expected-error @below {{expected operand [t, d], tokens [t * k], places [t, k] and a result [t * k, d] of operand's element type, got}}
  %0 = sinter.dispatch %x, %tokens, %places : (tensor<4x6xf32>, tensor<8xi32>, tensor<4x2xi32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @combine_c1(%y: tensor<8x6xf32>, %places: tensor<4x2xi32>, %tokens: tensor<8xi32>) {
  // expected-error @below {{expected operand [t * k, d], places [t, k], tokens and order [t * k] and a result [t, d] of operand's element type, got}}
  %0 = sinter.combine %y, %places, %tokens, %tokens : (tensor<8x6xf32>, tensor<4x2xi32>, tensor<8xi32>, tensor<8xi32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @combine_c2(%y: tensor<8x6xf32>, %places: tensor<4x2xi32>, %tokens: tensor<8xi32>, %p: tensor<8xf32>) {
  // expected-error @below {{expected weights [t, k] of operand's element type, got}}
  %0 = sinter.combine %y, %places, %tokens, %tokens, %p : (tensor<8x6xf32>, tensor<4x2xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @grouped_matmul_c1(%x: tensor<8x6xf32>, %w: tensor<4x6x10xf32>, %o: tensor<5xi32>) {
  // expected-error @below {{expected lhs [m, k], rhs [g, n, k] and a result [m, n], got}}
  %0 = sinter.grouped_matmul %x, %w, %o {transpose_rhs} : (tensor<8x6xf32>, tensor<4x6x10xf32>, tensor<5xi32>) -> tensor<8x10xf32>
  return
}

// -----

func.func @grouped_matmul_c2(%x: tensor<8x6xf32>, %w: tensor<4x6x10xf32>, %o: tensor<4xi32>) {
  // expected-error @below {{expected offsets [g + 1], got}}
  %0 = sinter.grouped_matmul %x, %w, %o : (tensor<8x6xf32>, tensor<4x6x10xf32>, tensor<4xi32>) -> tensor<8x10xf32>
  return
}

// -----

func.func @grouped_matmul_c3(%x: tensor<8x6xf32>, %w: tensor<4x6x10xbf16>, %o: tensor<5xi32>) {
  // expected-error @below {{expected lhs and rhs of one element type, got}}
  %0 = sinter.grouped_matmul %x, %w, %o : (tensor<8x6xf32>, tensor<4x6x10xbf16>, tensor<5xi32>) -> tensor<8x10xf32>
  return
}

// -----

func.func @grouped_matmul_c4(%x: tensor<8x6xf32>, %w: tensor<4x6x10xi8>, %o: tensor<5xi32>) {
  // expected-error @below {{expected integers or f8E4M3FN with scales, or numbers without, got 'tensor<4x6x10xi8>'}}
  %0 = sinter.grouped_matmul %x, %w, %o : (tensor<8x6xf32>, tensor<4x6x10xi8>, tensor<5xi32>) -> tensor<8x10xf32>
  return
}

// -----

func.func @grouped_matmul_c5(%x: tensor<8x6xf32>, %w: tensor<4x6x10xi8>, %o: tensor<5xi32>, %s: tensor<4x4x10xf32>) {
  // expected-error @below {{expected scales of rhs' shape but for k, which their extent divides, got}}
  %0 = sinter.grouped_matmul %x, %w, %o scales %s : (tensor<8x6xf32>, tensor<4x6x10xi8>, tensor<5xi32>, tensor<4x4x10xf32>) -> tensor<8x10xf32>
  return
}

// -----

func.func @grouped_matmul_c6(%x: tensor<8x6xf32>, %w: tensor<4x6x10xi8>, %o: tensor<5xi32>, %s: tensor<4x3x10xf32>, %m: tensor<4x2x10xf32>) {
  // expected-error @below {{expected minima of scales' shape, got}}
  %0 = sinter.grouped_matmul %x, %w, %o scales %s minima %m : (tensor<8x6xf32>, tensor<4x6x10xi8>, tensor<5xi32>, tensor<4x3x10xf32>, tensor<4x2x10xf32>) -> tensor<8x10xf32>
  return
}

// -----

func.func @grouped_outer_c1(%x: tensor<8x6xf32>, %y: tensor<8x10xf32>, %o: tensor<5xi32>) {
  // expected-error @below {{expected lhs [m, a], rhs [m, b] and a result [g, a, b], got}}
  %0 = sinter.grouped_outer %x, %y, %o : (tensor<8x6xf32>, tensor<8x10xf32>, tensor<5xi32>) -> tensor<4x10x6xf32>
  return
}

// -----

func.func @grouped_outer_c2(%x: tensor<8x6xf32>, %y: tensor<8x10xf32>, %o: tensor<6xi32>) {
  // expected-error @below {{expected offsets [g + 1], got}}
  %0 = sinter.grouped_outer %x, %y, %o : (tensor<8x6xf32>, tensor<8x10xf32>, tensor<6xi32>) -> tensor<4x6x10xf32>
  return
}

// -----

func.func @grouped_outer_c3(%x: tensor<8x6xf32>, %y: tensor<8x10xbf16>, %o: tensor<5xi32>) {
  // expected-error @below {{expected lhs and rhs of one element type, got}}
  %0 = sinter.grouped_outer %x, %y, %o : (tensor<8x6xf32>, tensor<8x10xbf16>, tensor<5xi32>) -> tensor<4x6x10xf32>
  return
}
