// RUN: sinter-opt %s --sinter-apply-optimizer="accumulate=6" --verify-diagnostics

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  // expected-error @below {{`accumulate` 6: over 2 ranks of the axis data, with `leaves` 8, no rank's gradients are 1, 2, 4, ... leaves of the sum; give `accumulate` 4 or 8}}
  func.func @train_step(%w: tensor<4xf32> {sinter.parameter = "w"})
      -> (tensor<4xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
    return %w : tensor<4xf32>
  }
}
