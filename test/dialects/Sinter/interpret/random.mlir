// RUN: sinter-opt %s --sinter-evaluate -o /dev/null
// Expected values were computed by a second implementation of Philox4x32-10; check ops judge.

func.func @dropout() {
  %c0 = sinter.constant dense<[[0.869, 0.461, 0.488, 1.827], [0.623, 0.129, 0.71, -0.919], [-0.338, 0.793, 0.631, 1.548]]> : tensor<3x4xf64>
  %c1 = sinter.constant dense<[7, -2]> : tensor<2xi32>
  %r2 = sinter.dropout %c0, %c1 {probability = 0.25, stream = 5 : i64} : (tensor<3x4xf64>, tensor<2xi32>) -> tensor<3x4xf64>
  check.expect_const %r2, dense<[[1.1586666666666667, 0.6146666666666667, 0.6506666666666666, 0.0], [0.8306666666666667, 0.17200000000000001, 0.9466666666666667, -1.2253333333333334], [-0.4506666666666667, 0.0, 0.8413333333333334, 2.064]]> : tensor<3x4xf64> : tensor<3x4xf64>
  return
}

func.func @dropout_of_nothing() {
  %c0 = sinter.constant dense<[[0.869, 0.461, 0.488, 1.827], [0.623, 0.129, 0.71, -0.919], [-0.338, 0.793, 0.631, 1.548]]> : tensor<3x4xf64>
  %c1 = sinter.constant dense<[7, -2]> : tensor<2xi32>
  %r2 = sinter.dropout %c0, %c1 {probability = 0.0, stream = 5 : i64} : (tensor<3x4xf64>, tensor<2xi32>) -> tensor<3x4xf64>
  check.expect_const %r2, dense<[[0.869, 0.461, 0.488, 1.827], [0.623, 0.129, 0.71, -0.919], [-0.338, 0.793, 0.631, 1.548]]> : tensor<3x4xf64> : tensor<3x4xf64>
  return
}
