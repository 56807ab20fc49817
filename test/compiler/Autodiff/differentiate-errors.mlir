// RUN: sinter-opt %s --sinter-differentiate --split-input-file --verify-diagnostics

// expected-error @below {{expected a function to differentiate to have an output 'loss'}}
func.func @no_loss(%w: tensor<f32> {sinter.parameter = "w"}) -> (tensor<f32> {sinter.output = "y"})
    attributes {sinter.entry, sinter.differentiate} {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{expected the loss to be one number, got 'tensor<4xf32>'}}
func.func @wide_loss(%w: tensor<4xf32> {sinter.parameter = "w"})
    -> (tensor<4xf32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{expected parameters of floating-point numbers, got 'tensor<4xi32>'}}
func.func @integer(%w: tensor<4xi32> {sinter.parameter = "w"}, %x: tensor<f32> {sinter.input = "x"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  return %x : tensor<f32>
}

// -----

func.func @no_adjoint(%w: tensor<1x2x1xf32> {sinter.parameter = "w"},
                      %count: tensor<1xi32> {sinter.input = "count"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  // expected-error @below {{expected every op between parameters and the loss to have an adjoint, got sinter.last_row}}
  %0 = sinter.last_row %w, %count : (tensor<1x2x1xf32>, tensor<1xi32>) -> tensor<1x1xf32>
  %1 = sinter.reshape %0 : (tensor<1x1xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Keys and values of 8 bits have no gradients.
func.func @bytes(%x: tensor<1x4x2x8xf32> {sinter.parameter = "x"}) -> (tensor<f32> {sinter.output = "loss"})
    attributes {sinter.entry, sinter.differentiate} {
  %q, %s = sinter.quantize %x : (tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xi8>, tensor<1x4x2x1xf32>)
  // expected-error @below {{operand #1 must be statically shaped tensor of}}
  %y = sinter.attention %x, %q, %q, %s, %s {scale = 0.5, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1>} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xi8>, tensor<1x4x2x8xi8>, tensor<1x4x2x1xf32>, tensor<1x4x2x1xf32>) -> tensor<1x4x2x8xf32>
  %r = sinter.reshape %y : (tensor<1x4x2x8xf32>) -> tensor<64xf32>
  %l = sinter.reduce sum %r : (tensor<64xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
