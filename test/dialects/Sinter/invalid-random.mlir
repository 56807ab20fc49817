// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @sample_c1(%l: tensor<2x3x8xf32>, %f: tensor<2xf32>, %i: tensor<2xi32>, %s: tensor<2x2xi32>) {
  // expected-error @below {{expected logits [b, v] of f32 with v at most 1048576, got 'tensor<2x3x8xf32>'}}
  %0 = sinter.sample %l, %f, %i, %f, %f, %s, %i, %i : (tensor<2x3x8xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_c1_type(%l: tensor<2x8xbf16>, %f: tensor<2xf32>, %i: tensor<2xi32>, %s: tensor<2x2xi32>) {
  // expected-error @below {{expected logits [b, v] of f32}}
  %0 = sinter.sample %l, %f, %i, %f, %f, %s, %i, %i : (tensor<2x8xbf16>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_c1_vocabulary(%l: tensor<2x1048577xf32>, %f: tensor<2xf32>, %i: tensor<2xi32>, %s: tensor<2x2xi32>) {
  // expected-error @below {{expected logits [b, v] of f32 with v at most 1048576}}
  %0 = sinter.sample %l, %f, %i, %f, %f, %s, %i, %i : (tensor<2x1048577xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_c2(%l: tensor<2x8xf32>, %t: tensor<3xf32>, %f: tensor<2xf32>, %i: tensor<2xi32>, %s: tensor<2x2xi32>) {
  // expected-error @below {{expected temperature, top_p and min_p of type 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %0 = sinter.sample %l, %t, %i, %f, %f, %s, %i, %i : (tensor<2x8xf32>, tensor<3xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_c2_type(%l: tensor<2x8xf32>, %p: tensor<2xf64>, %f: tensor<2xf32>, %i: tensor<2xi32>, %s: tensor<2x2xi32>) {
  // expected-error @below {{expected temperature, top_p and min_p of type 'tensor<2xf32>', got 'tensor<2xf64>'}}
  %0 = sinter.sample %l, %f, %i, %p, %f, %s, %i, %i : (tensor<2x8xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf64>, tensor<2xf32>, tensor<2x2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_c2_min_p(%l: tensor<2x8xf32>, %f: tensor<2xf32>, %m: tensor<2x1xf32>, %i: tensor<2xi32>, %s: tensor<2x2xi32>) {
  // expected-error @below {{expected temperature, top_p and min_p of type 'tensor<2xf32>', got 'tensor<2x1xf32>'}}
  %0 = sinter.sample %l, %f, %i, %f, %m, %s, %i, %i : (tensor<2x8xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2x1xf32>, tensor<2x2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_c3(%l: tensor<2x8xf32>, %f: tensor<2xf32>, %i: tensor<2xi32>, %c: tensor<1xi32>, %s: tensor<2x2xi32>) {
  // expected-error @below {{expected top_k, start, count and a result of type 'tensor<2xi32>', got 'tensor<1xi32>'}}
  %0 = sinter.sample %l, %f, %i, %f, %f, %s, %i, %c : (tensor<2x8xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xi32>, tensor<2xi32>, tensor<1xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_c3_seed(%l: tensor<2x8xf32>, %f: tensor<2xf32>, %i: tensor<2xi32>, %s: tensor<2xi32>) {
  // expected-error @below {{expected seed to be [b, 2] with logits' b, got 'tensor<2xi32>'}}
  %0 = sinter.sample %l, %f, %i, %f, %f, %s, %i, %i : (tensor<2x8xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @stochastic_round_c1_operand(%x: tensor<4xf64>, %s: tensor<2xi32>) {
  // expected-error @below {{expected an operand of f32 and a result of bf16, got 'tensor<4xf64>' -> 'tensor<4xbf16>'}}
  %0 = sinter.stochastic_round %x, %s, %s : (tensor<4xf64>, tensor<2xi32>, tensor<2xi32>) -> tensor<4xbf16>
  return
}

// -----

func.func @stochastic_round_c1_result(%x: tensor<4xf32>, %s: tensor<2xi32>) {
  // expected-error @below {{expected an operand of f32 and a result of bf16, got 'tensor<4xf32>' -> 'tensor<4xf16>'}}
  %0 = sinter.stochastic_round %x, %s, %s : (tensor<4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4xf16>
  return
}

// -----

func.func @stochastic_round_c2_seed(%x: tensor<4xf32>, %s: tensor<3xi32>, %t: tensor<2xi32>) {
  // expected-error @below {{expected seed and tag to be [2], got 'tensor<3xi32>'}}
  %0 = sinter.stochastic_round %x, %s, %t : (tensor<4xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<4xbf16>
  return
}

// -----

func.func @stochastic_round_c2_tag(%x: tensor<4xf32>, %s: tensor<2xi32>, %t: tensor<i32>) {
  // expected-error @below {{expected seed and tag to be [2], got 'tensor<i32>'}}
  %0 = sinter.stochastic_round %x, %s, %t : (tensor<4xf32>, tensor<2xi32>, tensor<i32>) -> tensor<4xbf16>
  return
}
