// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @softcap_c1(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected cap to be positive, got}}
  %0 = sinter.softcap %x {cap = 0.0} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @not_a_number(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected cap to be positive, got}}
  %0 = sinter.softcap %x {cap = 0x7FF8000000000000 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
