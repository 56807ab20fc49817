// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @expect_close_c1(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{expected values of one shape}}
  check.expect_close %x, %y : tensor<2xf32>, tensor<3xf32>
  return
}

// -----

func.func @expect_close_c2(%x: tensor<2xf32>) {
  // expected-error @below {{expected tolerance not to be negative}}
  check.expect_close %x, %x {tolerance = -1.0} : tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @expect_const_c1(%x: tensor<2xf32>) {
  // expected-error @below {{expected values of one shape}}
  check.expect_const %x, dense<1.0> : tensor<3xf32> : tensor<2xf32>
  return
}

// -----

func.func @expect_const_c2(%x: tensor<2xf32>) {
  // expected-error @below {{expected tolerance not to be negative}}
  check.expect_const %x, dense<1.0> : tensor<2xf32> {tolerance = -1.0} : tensor<2xf32>
  return
}
