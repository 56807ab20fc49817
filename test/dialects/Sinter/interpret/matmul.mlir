// RUN: sinter-opt %s --sinter-evaluate -o /dev/null
// Expected values were computed with NumPy in double precision; check ops judge.

func.func @matmul() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %c1 = sinter.constant dense<[[-0.782, -0.257, 0.008, -0.276], [1.294, 1.007, -2.711, -1.889], [-0.175, -0.422, 0.214, 0.217]]> : tensor<3x4xf64>
  %r2 = sinter.matmul %c0, %c1 : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
  check.expect_const %r2, dense<[[1.470005, 1.1979719999999998, -4.3071909999999995, -3.150906], [4.225051, 2.116573, -4.739367, -2.507942]]> : tensor<2x4xf64> : tensor<2x4xf64>
  return
}

func.func @matmul_transposed() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %c1 = sinter.constant dense<[[-0.782, 1.294, -0.175], [-0.257, 1.007, -0.422], [0.008, -2.711, 0.214], [-0.276, -1.889, 0.217]]> : tensor<4x3xf64>
  %r2 = sinter.matmul %c0, %c1 {transpose_rhs} : (tensor<2x3xf64>, tensor<4x3xf64>) -> tensor<2x4xf64>
  check.expect_const %r2, dense<[[1.470005, 1.1979719999999998, -4.3071909999999995, -3.150906], [4.225051, 2.116573, -4.739367, -2.507942]]> : tensor<2x4xf64> : tensor<2x4xf64>
  return
}

func.func @matmul_lhs_transposed() {
  %c0 = sinter.constant dense<[[0.691, -2.606], [1.643, 1.811], [0.661, 0.893]]> : tensor<3x2xf64>
  %c1 = sinter.constant dense<[[-0.782, -0.257, 0.008, -0.276], [1.294, 1.007, -2.711, -1.889], [-0.175, -0.422, 0.214, 0.217]]> : tensor<3x4xf64>
  %r2 = sinter.matmul %c0, %c1 {transpose_lhs} : (tensor<3x2xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
  check.expect_const %r2, dense<[[1.470005, 1.1979719999999998, -4.3071909999999995, -3.150906], [4.225051, 2.116573, -4.739367, -2.507942]]> : tensor<2x4xf64> : tensor<2x4xf64>
  return
}

func.func @matmul_both_transposed() {
  %c0 = sinter.constant dense<[[0.691, -2.606], [1.643, 1.811], [0.661, 0.893]]> : tensor<3x2xf64>
  %c1 = sinter.constant dense<[[-0.782, 1.294, -0.175], [-0.257, 1.007, -0.422], [0.008, -2.711, 0.214], [-0.276, -1.889, 0.217]]> : tensor<4x3xf64>
  %r2 = sinter.matmul %c0, %c1 {transpose_lhs, transpose_rhs} : (tensor<3x2xf64>, tensor<4x3xf64>) -> tensor<2x4xf64>
  check.expect_const %r2, dense<[[1.470005, 1.1979719999999998, -4.3071909999999995, -3.150906], [4.225051, 2.116573, -4.739367, -2.507942]]> : tensor<2x4xf64> : tensor<2x4xf64>
  return
}

// A scale for two rows and one column, and the same transposed: rhs is [[1, -4], [3, -2], [-10, 4], [2.5, 0]].
func.func @matmul_scaled() {
  %x = sinter.constant dense<[[1.0, 2.0, -1.0, 4.0]]> : tensor<1x4xf32>
  %q = sinter.constant dense<[[2, -8], [6, -4], [-4, 8], [1, 0]]> : tensor<4x2xi8>
  %s = sinter.constant dense<[[0.5, 0.5], [2.5, 0.5]]> : tensor<2x2xf32>
  %0 = sinter.matmul %x, %q, %s : (tensor<1x4xf32>, tensor<4x2xi8>, tensor<2x2xf32>) -> tensor<1x2xf32>
  check.expect_const %0, dense<[[27.0, -12.0]]> : tensor<1x2xf32> : tensor<1x2xf32>
  %qt = sinter.constant dense<[[2, 6, -4, 1], [-8, -4, 8, 0]]> : tensor<2x4xi8>
  %st = sinter.constant dense<[[0.5, 2.5], [0.5, 0.5]]> : tensor<2x2xf32>
  %1 = sinter.matmul %x, %qt, %st {transpose_rhs} : (tensor<1x4xf32>, tensor<2x4xi8>, tensor<2x2xf32>) -> tensor<1x2xf32>
  check.expect_const %1, dense<[[27.0, -12.0]]> : tensor<1x2xf32> : tensor<1x2xf32>
  return
}

// A minimum for each group of two: rhs is [[1.25, -4], [3.25, -2], [-11, 5], [1.5, 1]].
func.func @matmul_minima() {
  %x = sinter.constant dense<[[1.0, 2.0, -1.0, 4.0]]> : tensor<1x4xf32>
  %q = sinter.constant dense<[[2, -8], [6, -4], [-4, 8], [1, 0]]> : tensor<4x2xi8>
  %s = sinter.constant dense<[[0.5, 0.5], [2.5, 0.5]]> : tensor<2x2xf32>
  %m = sinter.constant dense<[[0.25, 0.0], [-1.0, 1.0]]> : tensor<2x2xf32>
  %0 = sinter.matmul %x, %q, %s minima %m : (tensor<1x4xf32>, tensor<4x2xi8>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  check.expect_const %0, dense<[[24.75, -9.0]]> : tensor<1x2xf32> : tensor<1x2xf32>
  return
}

// Sums of integers, by the scale of the row and of the column.
func.func @matmul_rows() {
  %x = sinter.constant dense<[[1, 2, -1, 4], [-128, 0, 0, 127]]> : tensor<2x4xi8>
  %q = sinter.constant dense<[[2, 6, -4, 1], [-128, -4, 8, 0]]> : tensor<2x4xi8>
  %s = sinter.constant dense<[[0.5], [2.0]]> : tensor<2x1xf32>
  %r = sinter.constant dense<[[2.0], [0.25]]> : tensor<2x1xf32>
  %0 = sinter.matmul %x, %q, %s rows %r {transpose_rhs} : (tensor<2x4xi8>, tensor<2x4xi8>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  check.expect_const %0, dense<[[22.0, -576.0], [-16.125, 8192.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  return
}

// The same of e4m3: 1.0625 is 1 there, and a sum of numbers is one of f32.
func.func @matmul_fp8() {
  %x = sinter.constant dense<[[1.0625, 448.0, -0.5]]> : tensor<1x3xf8E4M3FN>
  %w = sinter.constant dense<[[2.0, 1.0, 4.0], [-3.0, 0.015625, 1.0]]> : tensor<2x3xf8E4M3FN>
  %s = sinter.constant dense<[[0.5], [2.0]]> : tensor<2x1xf32>
  %r = sinter.constant dense<[[0.25]]> : tensor<1x1xf32>
  %0 = sinter.matmul %x, %w, %s rows %r {transpose_rhs} : (tensor<1x3xf8E4M3FN>, tensor<2x3xf8E4M3FN>, tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
  check.expect_const %0, dense<[[56.0, 1.75]]> : tensor<1x2xf32> : tensor<1x2xf32>
  return
}

// A scale for all of either side; 1.25 is a number of e5m2, 1.125 is not and becomes 1.
func.func @matmul_fp8_tensors() {
  %dy = sinter.constant dense<[[1.125, -57344.0], [1.25, 0.5], [2.0, 0.0]]> : tensor<3x2xf8E5M2>
  %x = sinter.constant dense<[[1.0], [4.0], [-1.125]]> : tensor<3x1xf8E4M3FN>
  %s = sinter.constant dense<[[0.5]]> : tensor<1x1xf32>
  %r = sinter.constant dense<[[0.25]]> : tensor<1x1xf32>
  %0 = sinter.matmul %dy, %x, %s rows %r {transpose_lhs} : (tensor<3x2xf8E5M2>, tensor<3x1xf8E4M3FN>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  check.expect_const %0, dense<[[0.46875], [-7167.75]]> : tensor<2x1xf32> : tensor<2x1xf32>
  return
}

// The scale is the largest magnitude over 127; halves go to the even integer, zeros stay zeros.
func.func @quantize() {
  %x = sinter.constant dense<[[-254.0, 5.0, 3.0, -1.0], [0.0, 0.0, 0.0, 0.0], [63.5, 0.25, -0.75, 0.1]]> : tensor<3x4xf32>
  %q, %s = sinter.quantize %x : (tensor<3x4xf32>) -> (tensor<3x4xi8>, tensor<3x1xf32>)
  check.expect_const %q, dense<[[-127, 2, 2, 0], [0, 0, 0, 0], [127, 0, -2, 0]]> : tensor<3x4xi8> : tensor<3x4xi8>
  check.expect_const %s, dense<[[2.0], [0.0], [0.5]]> : tensor<3x1xf32> : tensor<3x1xf32>
  return
}
