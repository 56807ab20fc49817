// RUN: sinter-opt %s --sinter-evaluate -o /dev/null
// Expected values were computed with NumPy in double precision; check ops judge.

func.func @reduce_sum() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.reduce sum %c0 : (tensor<2x3xf64>) -> tensor<2xf64>
  check.expect_const %r1, dense<[2.995, 0.09800000000000009]> : tensor<2xf64> : tensor<2xf64>
  return
}

func.func @reduce_mean() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.reduce mean %c0 : (tensor<2x3xf64>) -> tensor<2xf64>
  check.expect_const %r1, dense<[0.9983333333333334, 0.0326666666666667]> : tensor<2xf64> : tensor<2xf64>
  return
}

func.func @reduce_max() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.reduce max %c0 : (tensor<2x3xf64>) -> tensor<2xf64>
  check.expect_const %r1, dense<[1.643, 1.811]> : tensor<2xf64> : tensor<2xf64>
  return
}

func.func @rms_norm() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %c1 = sinter.constant dense<[-0.736, -0.163, -0.482]> : tensor<3xf64>
  %r2 = sinter.rms_norm %c0, %c1 {eps = 0.1} : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  check.expect_const %r2, dense<[[-0.4452606798011399, -0.23446803898898785, -0.27893754936529214], [0.9940706614937996, -0.1529928325823868, -0.2230814855267788]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @layer_norm() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %c1 = sinter.constant dense<[-0.736, -0.163, -0.482]> : tensor<3xf64>
  %c2 = sinter.constant dense<[0.599, 0.04, -0.292]> : tensor<3xf64>
  %r3 = sinter.layer_norm %c0, %c1, %c2 {eps = 0.1} : (tensor<2x3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  check.expect_const %r3, dense<[[1.006614007669529, -0.14935834051353034, 0.0010001991138613997], [1.6056757995154465, -0.11025469684362948, -0.5069517925618442]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @column_sum() {
  %c0 = sinter.constant dense<[[[-0.958, 1.6, 0.203, -1.732], [-0.084, -1.163, -0.629, -0.488], [-0.713, 0.553, -0.063, -0.589]], [[0.41, 0.83, -1.643, -0.257], [-0.981, -0.173, -1.289, 0.021], [-0.038, -0.304, -1.048, -0.396]]]> : tensor<2x3x4xf64>
  %r1 = sinter.column_sum %c0 : (tensor<2x3x4xf64>) -> tensor<2x4xf64>
  check.expect_const %r1, dense<[[-1.755, 0.9900000000000001, -0.489, -2.8089999999999997], [-0.609, 0.35300000000000004, -3.98, -0.632]]> : tensor<2x4xf64> : tensor<2x4xf64>
  return
}

// From front to back the first sum were 2, from back to front 0; parts of 16 bits are rounded once.
func.func @sum_parts() {
  %c0 = sinter.constant dense<[[1.0e16, 1.0], [1.0, 2.0], [-1.0e16, 3.0], [1.0, 4.0], [1.0, 5.0]]> : tensor<5x2xf64>
  %r0 = sinter.sum_parts %c0 : (tensor<5x2xf64>) -> tensor<2xf64>
  check.expect_const %r0, dense<[1.0, 15.0]> : tensor<2xf64> : tensor<2xf64>
  %c1 = sinter.constant dense<[256.0, 1.0, 1.0]> : tensor<3xbf16>
  %r1 = sinter.sum_parts %c1 : (tensor<3xbf16>) -> tensor<bf16>
  check.expect_const %r1, dense<258.0> : tensor<bf16> : tensor<bf16>
  return
}

func.func @cross_entropy() {
  %c0 = sinter.constant dense<[[-3.2729999999999997, -4.0649999999999995, 0.675, -3.327, 3.51], [2.151, -5.994, 0.8160000000000001, -3.306, 0.099], [0.132, -5.964, -0.6990000000000001, -0.768, 2.886]]> : tensor<3x5xf64>
  %c1 = sinter.constant dense<[4, -1, 0]> : tensor<3xi32>
  %r2 = sinter.cross_entropy %c0, %c1 : (tensor<3x5xf64>, tensor<3xi32>) -> tensor<3xf64>
  check.expect_const %r2, dense<[0.05962443800406847, 0.0, 2.8650404279792445]> : tensor<3xf64> : tensor<3xf64>
  return
}

func.func @cross_entropy_z_loss() {
  %c0 = sinter.constant dense<[[-3.2729999999999997, -4.0649999999999995, 0.675, -3.327, 3.51], [2.151, -5.994, 0.8160000000000001, -3.306, 0.099], [0.132, -5.964, -0.6990000000000001, -0.768, 2.886]]> : tensor<3x5xf64>
  %c1 = sinter.constant dense<[4, -1, 0]> : tensor<3xi32>
  %r2 = sinter.cross_entropy %c0, %c1 {z_loss = 0.25 : f64} : (tensor<3x5xf64>, tensor<3xi32>) -> tensor<3xf64>
  check.expect_const %r2, dense<[3.2451790951030337, 0.0, 5.110603259714749]> : tensor<3xf64> : tensor<3xf64>
  return
}
