// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @attention_c1(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x2x6xf32>) {
  // expected-error @below {{expected q [b, t, h, d], k and v [b, s, g, d] and a result of q's shape}}
  %0 = sinter.attention %q, %k, %k {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x2x6xf32>, tensor<1x4x2x6xf32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x3x8xf32>) {
  // expected-error @below {{expected 3 key-value heads to divide 4 query heads}}
  %0 = sinter.attention %q, %k, %k {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c3(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x2x8xf32>, %start: tensor<2xi32>) {
  // expected-error @below {{expected start to be [b]}}
  %0 = sinter.attention %q, %k, %k, %start {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<2xi32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x2x8xf32>, %slopes: tensor<2xf32>) {
  // expected-error @below {{expected alibi_slopes to be [h]}}
  %0 = sinter.attention %q, %k, %k, %slopes {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<2xf32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c5(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x2x8xf32>) {
  // expected-error @below {{expected window and softcap to be positive}}
  %0 = sinter.attention %q, %k, %k {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 1.0 : f64, window = 0 : i64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c6(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x2x8xf32>, %v: tensor<1x4x2x8xbf16>) {
  // expected-error @below {{expected k and v of one element type}}
  %0 = sinter.attention %q, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xbf16>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c7(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x2x8xf32>, %first: tensor<4xi32>) {
  // expected-error @below {{expected first to be [b, t]}}
  %0 = sinter.attention %q, %k, %k, %first {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<4xi32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c8(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x2x8xf32>) {
  // expected-error @below {{expected logsumexp to be [b, t, h]}}
  %0:2 = sinter.attention %q, %k, %k {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

func.func @attention_grad_c1(%q: tensor<1x4x4x8xf32>, %k: tensor<1x6x2x8xf32>, %v: tensor<1x6x2x8xf32>, %g: tensor<1x4x2x8xf32>, %l: tensor<1x4x4xf32>,
    %d: tensor<1x4x4xf32>) {
  // expected-error @below {{expected query and gradient [b, t, h, d], key and value [b, s, g, d] and results of the shapes of query, key and value}}
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>)
  return
}

// -----

func.func @attention_grad_c1_result(%q: tensor<1x4x4x8xf32>, %k: tensor<1x6x2x8xf32>, %v: tensor<1x6x2x8xf32>, %g: tensor<1x4x4x8xf32>, %l: tensor<1x4x4xf32>,
    %d: tensor<1x4x4xf32>) {
  // expected-error @below {{expected query and gradient [b, t, h, d], key and value [b, s, g, d] and results of the shapes of query, key and value}}
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>)
  return
}

// -----

func.func @attention_grad_c2(%q: tensor<1x4x4x8xf32>, %k: tensor<1x6x3x8xf32>, %v: tensor<1x6x3x8xf32>, %g: tensor<1x4x4x8xf32>, %l: tensor<1x4x4xf32>,
    %d: tensor<1x4x4xf32>) {
  // expected-error @below {{expected 3 key-value heads to divide 4 query heads}}
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x6x3x8xf32>, tensor<1x6x3x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x6x3x8xf32>, tensor<1x6x3x8xf32>)
  return
}

// -----

func.func @attention_grad_c3(%q: tensor<1x4x4x8xf32>, %k: tensor<1x6x2x8xf32>, %v: tensor<1x6x2x8xf32>, %g: tensor<1x4x4x8xf32>, %l: tensor<1x4x4xf32>,
    %d: tensor<1x4x4xf32>, %o: tensor<2xi32>) {
  // expected-error @below {{expected start to be [b]}}
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d, %o {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<2xi32>) -> (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>)
  return
}

// -----

func.func @attention_grad_c4(%q: tensor<1x4x4x8xf32>, %k: tensor<1x6x2x8xf32>, %v: tensor<1x6x2x8xf32>, %g: tensor<1x4x4x8xf32>, %l: tensor<1x4x4xf32>,
    %d: tensor<1x4x4xf32>, %o: tensor<2xf32>) {
  // expected-error @below {{expected alibi_slopes to be [h]}}
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d, %o {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 1, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>)
  return
}

// -----

func.func @attention_grad_c5(%q: tensor<1x4x4x8xf32>, %k: tensor<1x6x2x8xf32>, %v: tensor<1x6x2x8xf32>, %g: tensor<1x4x4x8xf32>, %l: tensor<1x4x4xf32>,
    %d: tensor<1x4x4xf32>) {
  // expected-error @below {{expected window and softcap to be positive}}
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 1.0 : f64, softcap = 0.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>)
  return
}

// -----

func.func @attention_grad_c6(%q: tensor<1x4x4x8xf32>, %k: tensor<1x6x2x8xf32>, %v: tensor<1x6x2x8xbf16>, %g: tensor<1x4x4x8xf32>, %l: tensor<1x4x4xf32>,
    %d: tensor<1x4x4xf32>) {
  // expected-error @below {{expected k and v of one element type}}
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xbf16>, tensor<1x4x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xbf16>)
  return
}

// -----

func.func @attention_grad_c7(%q: tensor<1x4x4x8xf32>, %k: tensor<1x6x2x8xf32>, %v: tensor<1x6x2x8xf32>, %g: tensor<1x4x4x8xf32>, %l: tensor<1x4x4xf32>,
    %d: tensor<1x4x4xf32>, %o: tensor<1x6xi32>) {
  // expected-error @below {{expected first to be [b, t]}}
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d, %o {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 1, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x6xi32>) -> (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>)
  return
}

// -----

func.func @attention_grad_c8(%q: tensor<1x4x4x8xf32>, %k: tensor<1x6x2x8xf32>, %v: tensor<1x6x2x8xf32>, %g: tensor<1x4x4x8xf32>, %l: tensor<1x4x4xf32>,
    %d: tensor<1x4x2xf32>) {
  // expected-error @below {{expected logsumexp and delta to be [b, t, h]}}
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>)
  return
}

// -----

func.func @attention_c9(%q: tensor<1x4x4x8xf32>) {
  // expected-error @below {{expected a dropout of at least 0 and below 1, and if it is not 0 a seed [2], or [3] with four extents of the whole}}
  %0 = sinter.attention %q, %q, %q {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 1.0 : f64, dropout = 0.1 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c9_one(%q: tensor<1x4x4x8xf32>, %seed: tensor<2xi32>) {
  // expected-error @below {{expected a dropout of at least 0 and below 1, and if it is not 0 a seed [2], or [3] with four extents of the whole}}
  %0 = sinter.attention %q, %q, %q, %seed {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0, 0>, scale = 1.0 : f64, dropout = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<2xi32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c9_none(%q: tensor<1x4x4x8xf32>, %seed: tensor<2xi32>) {
  // expected-error @below {{expected a dropout of at least 0 and below 1, and if it is not 0 a seed [2], or [3] with four extents of the whole}}
  %0 = sinter.attention %q, %q, %q, %seed {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0, 0>, scale = 1.0 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<2xi32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c9_seed(%q: tensor<1x4x4x8xf32>, %seed: tensor<4xi32>) {
  // expected-error @below {{expected a dropout of at least 0 and below 1, and if it is not 0 a seed [2], or [3] with four extents of the whole}}
  %0 = sinter.attention %q, %q, %q, %seed {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0, 0>, scale = 1.0 : f64, dropout = 0.5 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<4xi32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c9_whole(%q: tensor<1x4x4x8xf32>, %seed: tensor<3xi32>) {
  // expected-error @below {{or [3] with four extents of the whole}}
  %0 = sinter.attention %q, %q, %q, %seed {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0, 0>, scale = 1.0 : f64, dropout = 0.5 : f64, whole = array<i64: 1, 8, 4>}
      : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<3xi32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_grad_c9(%q: tensor<1x4x4x8xf32>, %l: tensor<1x4x4xf32>) {
  // expected-error @below {{expected a dropout of at least 0 and below 1, and if it is not 0 a seed [2], or [3] with four extents of the whole}}
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 1.0 : f64, dropout = -0.5 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>)
  return
}

// -----

func.func @rotary_c1(%x: tensor<4x4x8xf32>, %t: tensor<16x4xf32>) {
  // expected-error @below {{expected an operand [b, t, h, d]}}
  %0 = sinter.rotary %x, %t, %t : (tensor<4x4x8xf32>, tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<4x4x8xf32>
  return
}

// -----

func.func @rotary_c2(%x: tensor<1x4x4x8xf32>, %t: tensor<16x5xf32>) {
  // expected-error @below {{expected cos and sin of one type [positions, r/2] with r <= d}}
  %0 = sinter.rotary %x, %t, %t : (tensor<1x4x4x8xf32>, tensor<16x5xf32>, tensor<16x5xf32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @rotary_c3(%x: tensor<1x4x4x8xf32>, %t: tensor<16x4xf32>, %start: tensor<3xi32>) {
  // expected-error @below {{expected start to be [b]}}
  %0 = sinter.rotary %x, %t, %t, %start : (tensor<1x4x4x8xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<3xi32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c10_without(%q: tensor<1x4x4x8xf32>, %k: tensor<1x16x2x8xi8>) {
  // expected-error @below {{expected key_scales and value_scales [b, s, g, 1] exactly for k and v of 8 bits}}
  %0 = sinter.attention %q, %k, %k {scale = 0.3, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<1x4x4x8xf32>, tensor<1x16x2x8xi8>, tensor<1x16x2x8xi8>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c10_of_f32(%q: tensor<1x4x4x8xf32>, %k: tensor<1x16x2x8xf32>, %s: tensor<1x16x2x1xf32>) {
  // expected-error @below {{expected key_scales and value_scales [b, s, g, 1] exactly for k and v of 8 bits}}
  %0 = sinter.attention %q, %k, %k, %s, %s {scale = 0.3, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1>} : (tensor<1x4x4x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x1xf32>, tensor<1x16x2x1xf32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @attention_c10_shape(%q: tensor<1x4x4x8xf32>, %k: tensor<1x16x2x8xf8E4M3FN>, %s: tensor<1x16x4x1xf32>) {
  // expected-error @below {{expected key_scales and value_scales [b, s, g, 1] exactly for k and v of 8 bits}}
  %0 = sinter.attention %q, %k, %k, %s, %s {scale = 0.3, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1>} : (tensor<1x4x4x8xf32>, tensor<1x16x2x8xf8E4M3FN>, tensor<1x16x2x8xf8E4M3FN>, tensor<1x16x4x1xf32>, tensor<1x16x4x1xf32>) -> tensor<1x4x4x8xf32>
  return
}

// -----

func.func @cache_append_c1(%c: tensor<1x16x2x8xf32>, %r: tensor<1x4x2x6xf32>, %s: tensor<1xi32>) {
  // expected-error @below {{expected cache [b, c, h, d] and rows [b, t, h, d]}}
  %0 = sinter.cache_append %c, %r, %s, %s : (tensor<1x16x2x8xf32>, tensor<1x4x2x6xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x2x8xf32>
  return
}

// -----

func.func @cache_append_c2(%c: tensor<1x16x2x8xf32>, %r: tensor<1x4x2x8xf32>, %s: tensor<2xi32>) {
  // expected-error @below {{expected start and count to be [b]}}
  %0 = sinter.cache_append %c, %r, %s, %s : (tensor<1x16x2x8xf32>, tensor<1x4x2x8xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x16x2x8xf32>
  return
}

// -----

func.func @cache_append_c3(%c: tensor<1x16x2x8xi8>, %r: tensor<1x4x2x8xf32>, %s: tensor<1xi32>) {
  // expected-error @below {{expected a cache of 8 bits to get rows of its element type}}
  %0 = sinter.cache_append %c, %r, %s, %s : (tensor<1x16x2x8xi8>, tensor<1x4x2x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x2x8xi8>
  return
}

// -----

func.func @cache_append_c3_rows(%c: tensor<1x16x2x8xf32>, %r: tensor<1x4x2x8xf8E4M3FN>, %s: tensor<1xi32>) {
  // expected-error @below {{expected a cache of 8 bits to get rows of its element type}}
  %0 = sinter.cache_append %c, %r, %s, %s : (tensor<1x16x2x8xf32>, tensor<1x4x2x8xf8E4M3FN>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x2x8xf32>
  return
}
