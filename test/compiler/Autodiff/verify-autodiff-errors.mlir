// RUN: sinter-opt %s --sinter-verify-autodiff --split-input-file --verify-diagnostics

// expected-error @below {{expected no function to differentiate after Autodiff}}
func.func @train_step(%w: tensor<f32> {sinter.parameter = "w"})
    -> (tensor<f32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.differentiate} {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{expected every gradient to be used after Autodiff, got "w"}}
func.func @train_step(%w: tensor<f32> {sinter.parameter = "w"})
    -> (tensor<f32> {sinter.gradient = "w"}) attributes {sinter.entry} {
  return %w : tensor<f32>
}

// -----

func.func @evaluate(%h: tensor<4x8xf32> {sinter.parameter = "h"},
                    %w: tensor<8x16xf32> {sinter.parameter = "w"},
                    %t: tensor<4xi32> {sinter.input = "t"})
    -> (tensor<4xf32> {sinter.output = "loss"}) attributes {sinter.entry} {
  // expected-error @below {{expected losses to be written out after Autodiff}}
  %0 = sinter.linear_cross_entropy %h, %w, %t {chunk = 2 : i64}
     : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
