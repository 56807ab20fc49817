// RUN: sinter-opt %s --sinter-evaluate --split-input-file --verify-diagnostics

func.func @off() {
  %x = sinter.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  // expected-error @below {{expected 5.000000e+00 at [1, 0], got 3.000000e+00}}
  check.expect_const %x, dense<[[1.0, 2.0], [5.0, 4.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  return
}

// -----

func.func @not_close() {
  %x = sinter.constant dense<1.0> : tensor<2xf32>
  %y = sinter.constant dense<1.25> : tensor<2xf32>
  check.expect_close %x, %y {tolerance = 0.25} : tensor<2xf32>, tensor<2xf32>
  // expected-error @below {{expected 1.250000e+00 at [0], got 1.000000e+00}}
  check.expect_close %x, %y {tolerance = 0.125} : tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @no_reference(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{expected an op with a reference}}
  %0 = arith.addf %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
