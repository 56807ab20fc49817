// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @matmul_c1(%x: tensor<4x8xf32>, %w: tensor<1x8x16xf32>) {
  // expected-error @below {{expected rhs of rank 2 and lhs of rank 1 at least}}
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<1x8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c2(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{expected lhs and rhs to agree on k, got 8 and 16}}
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @matmul_c3(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{expected a result of lhs' shape with k replaced by n = 16, got 'tensor<16x4xf32>'}}
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<16x4xf32>
  return
}

// -----

func.func @matmul_c4(%x: tensor<4x8xf32>, %w: tensor<8x16xbf16>) {
  // expected-error @below {{expected lhs and rhs of one element type, got 'f32' and 'bf16'}}
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  return
}

// -----

// The k of a transposed lhs is its first extent.
func.func @matmul_c2_transposed(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{expected lhs and rhs to agree on k, got 4 and 8}}
  %0 = sinter.matmul %x, %w {transpose_lhs} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c3_transposed(%x: tensor<8x4xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{expected a result of lhs' shape with k replaced by n = 16, got 'tensor<8x16xf32>'}}
  %0 = sinter.matmul %x, %w {transpose_lhs} : (tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @matmul_c5(%x: tensor<2x8x4xf32>, %w: tensor<2x16xf32>) {
  // expected-error @below {{expected a transposed lhs of rank 2 and no scales but of all of it, got 'tensor<2x8x4xf32>'}}
  %0 = sinter.matmul %x, %w {transpose_lhs} : (tensor<2x8x4xf32>, tensor<2x16xf32>) -> tensor<8x4x16xf32>
  return
}

// -----

func.func @matmul_c5_scales(%x: tensor<8x4xf32>, %w: tensor<8x16xi8>, %s: tensor<1x16xf32>) {
  // expected-error @below {{expected a transposed lhs of rank 2 and no scales but of all of it, got 'tensor<8x4xf32>'}}
  %0 = sinter.matmul %x, %w, %s {transpose_lhs} : (tensor<8x4xf32>, tensor<8x16xi8>, tensor<1x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c6(%x: tensor<4x8xf32>, %w: tensor<8x16xi8>) {
  // expected-error @below {{expected 8 bits or less with scales or numbers without, got 'tensor<8x16xi8>'}}
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xi8>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c6_numbers(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %s: tensor<1x16xf32>) {
  // expected-error @below {{expected 8 bits or less with scales or numbers without, got 'tensor<8x16xf32>'}}
  %0 = sinter.matmul %x, %w, %s : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<1x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c7(%x: tensor<4x8xf32>, %w: tensor<8x16xi8>, %s: tensor<3x16xf32>) {
  // expected-error @below {{expected scales of rank 2 whose extents divide those of rhs, got 'tensor<3x16xf32>' for 'tensor<8x16xi8>'}}
  %0 = sinter.matmul %x, %w, %s : (tensor<4x8xf32>, tensor<8x16xi8>, tensor<3x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c7_rank(%x: tensor<4x8xf32>, %w: tensor<8x16xi8>, %s: tensor<16xf32>) {
  // expected-error @below {{expected scales of rank 2 whose extents divide those of rhs, got 'tensor<16xf32>'}}
  %0 = sinter.matmul %x, %w, %s : (tensor<4x8xf32>, tensor<8x16xi8>, tensor<16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c8(%x: tensor<4x8xf32>, %w: tensor<8x16xi8>, %s: tensor<2x16xf32>, %m: tensor<1x16xf32>) {
  // expected-error @below {{expected minima of scales' shape, got 'tensor<1x16xf32>' and 'tensor<2x16xf32>'}}
  %0 = sinter.matmul %x, %w, %s minima %m : (tensor<4x8xf32>, tensor<8x16xi8>, tensor<2x16xf32>, tensor<1x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c9(%x: tensor<4x8xi8>, %w: tensor<8x16xi8>, %s: tensor<1x16xf32>) {
  // expected-error @below {{expected 8 bits with scales of rows or numbers without, got 'tensor<4x8xi8>'}}
  %0 = sinter.matmul %x, %w, %s : (tensor<4x8xi8>, tensor<8x16xi8>, tensor<1x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c9_numbers(%x: tensor<4x8xf32>, %w: tensor<8x16xi8>, %s: tensor<1x16xf32>, %r: tensor<4x1xf32>) {
  // expected-error @below {{expected 8 bits with scales of rows or numbers without, got 'tensor<4x8xf32>'}}
  %0 = sinter.matmul %x, %w, %s rows %r : (tensor<4x8xf32>, tensor<8x16xi8>, tensor<1x16xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c10_kinds(%x: tensor<4x8xi8>, %w: tensor<8x16xf8E4M3FN>, %s: tensor<1x1xf32>) {
  // expected-error @below {{expected scales of rows of lhs' shape with k replaced by 1, and rhs of lhs' kind}}
  %0 = sinter.matmul %x, %w, %s rows %s : (tensor<4x8xi8>, tensor<8x16xf8E4M3FN>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c10_one_side(%x: tensor<4x8xf8E5M2>, %w: tensor<8x16xf8E4M3FN>, %s: tensor<1x16xf32>, %r: tensor<1x1xf32>) {
  // expected-error @below {{or a scale for all of either side}}
  %0 = sinter.matmul %x, %w, %s rows %r : (tensor<4x8xf8E5M2>, tensor<8x16xf8E4M3FN>, tensor<1x16xf32>, tensor<1x1xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c10(%x: tensor<4x8xi8>, %w: tensor<8x16xi8>, %s: tensor<1x16xf32>, %r: tensor<4xf32>) {
  // expected-error @below {{expected scales of rows of lhs' shape with k replaced by 1}}
  %0 = sinter.matmul %x, %w, %s rows %r : (tensor<4x8xi8>, tensor<8x16xi8>, tensor<1x16xf32>, tensor<4xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c10_groups(%x: tensor<4x8xf8E4M3FN>, %w: tensor<8x16xf8E4M3FN>, %s: tensor<2x16xf32>, %r: tensor<4x1xf32>) {
  // expected-error @below {{and rhs of lhs' kind with scales of each column (of f8 one), or a scale for all of either side, minima with scales of integers' columns alone and groups of at most 131071 integers}}
  %0 = sinter.matmul %x, %w, %s rows %r : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<2x16xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c10_columns(%x: tensor<4x8xi8>, %w: tensor<8x16xi4>, %s: tensor<2x8xf32>, %r: tensor<4x1xf32>) {
  // expected-error @below {{and rhs of lhs' kind with scales of each column}}
  %0 = sinter.matmul %x, %w, %s rows %r : (tensor<4x8xi8>, tensor<8x16xi4>, tensor<2x8xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c10_minima(%x: tensor<4x8xf8E4M3FN>, %w: tensor<8x16xf8E4M3FN>, %s: tensor<1x16xf32>, %r: tensor<4x1xf32>) {
  // expected-error @below {{minima with scales of integers' columns alone}}
  %0 = sinter.matmul %x, %w, %s minima %s rows %r : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c10_types(%x: tensor<4x8xf8E4M3FN>, %w: tensor<8x16xi8>, %s: tensor<1x16xf32>, %r: tensor<4x1xf32>) {
  // expected-error @below {{and rhs of lhs' kind with scales of each column}}
  %0 = sinter.matmul %x, %w, %s rows %r : (tensor<4x8xf8E4M3FN>, tensor<8x16xi8>, tensor<1x16xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_c10_overflow(%x: tensor<1x131072xi8>, %w: tensor<131072x1xi8>, %s: tensor<1x1xf32>, %r: tensor<1x1xf32>) {
  // expected-error @below {{groups of at most 131071 integers}}
  %0 = sinter.matmul %x, %w, %s rows %r : (tensor<1x131072xi8>, tensor<131072x1xi8>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @quantize_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected numbers of the operand's shape, of rank 1 at least, got 'tensor<4x8xf32>' and 'tensor<8x4xi8>'}}
  %q, %s = sinter.quantize %x : (tensor<4x8xf32>) -> (tensor<8x4xi8>, tensor<4x1xf32>)
  return
}

// -----

func.func @quantize_c2(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected scales of the operand's shape with 1 for the last dimension, got 'tensor<4x8xf32>' and 'tensor<4xf32>'}}
  %q, %s = sinter.quantize %x : (tensor<4x8xf32>) -> (tensor<4x8xi8>, tensor<4xf32>)
  return
}
