// RUN: sinter-opt %s --sinter-apply-optimizer --split-input-file --verify-diagnostics

// expected-error @below {{expected a gradient of a parameter and of its type, got "w" of type 'tensor<4xf32>'}}
func.func @no_parameter(%w: tensor<4xf32> {sinter.input = "w"})
    -> (tensor<4xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{expected a gradient of a parameter and of its type, got "w" of type 'tensor<8xf32>'}}
func.func @other_type(%w: tensor<4xf32> {sinter.parameter = "w"}, %x: tensor<8xf32> {sinter.input = "x"})
    -> (tensor<8xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
  return %x : tensor<8xf32>
}

// -----

// expected-error @below {{expected parameters to train to be of f32, got "w" of type 'tensor<4xbf16>'}}
func.func @narrow(%w: tensor<4xbf16> {sinter.parameter = "w"})
    -> (tensor<4xbf16> {sinter.gradient = "w"}) attributes {sinter.entry} {
  return %w : tensor<4xbf16>
}

// -----

func.func @first(%w: tensor<4xf32> {sinter.parameter = "w"})
    -> (tensor<4xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
  return %w : tensor<4xf32>
}
// expected-error @below {{expected one function with gradients, got @first too}}
func.func @second(%w: tensor<4xf32> {sinter.parameter = "w"})
    -> (tensor<4xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
  return %w : tensor<4xf32>
}
