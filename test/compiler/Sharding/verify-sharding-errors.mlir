// RUN: sinter-opt %s --split-input-file --sinter-verify-sharding --verify-diagnostics

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  // expected-error @below {{expected argument 0 to be a rank's part of 'sinter.whole' after Sharding, got 'tensor<4xf32>'}}
  func.func @whole(%w: tensor<4xf32> {sinter.state = "w", sinter.sharding = #sinter.sharding<[["data"]]>}) attributes {sinter.entry} {
    return
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  // expected-error @below {{expected result 0 to be a rank's part of 'sinter.whole' after Sharding, got 'tensor<4xf32>'}}
  func.func @other(%w: tensor<4xf32> {sinter.state = "w"})
      -> (tensor<4xf32> {sinter.state = "w", sinter.whole = tensor<9xf32>, sinter.sharding = #sinter.sharding<[["data"]]>}) attributes {sinter.entry} {
    return %w : tensor<4xf32>
  }
}
