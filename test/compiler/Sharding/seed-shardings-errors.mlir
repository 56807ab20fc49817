// RUN: sinter-opt %s --sinter-seed-shardings --verify-diagnostics

module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
  // expected-error @below {{training cannot be split along the axis tensor yet}}
  func.func @update(%m: tensor<8x4xf32> {sinter.state = "m", sinter.role = #sinter.role<optimizer>})
      -> (tensor<8x4xf32> {sinter.state = "m"}) attributes {sinter.entry} {
    return %m : tensor<8x4xf32>
  }
}
