// RUN: sinter-opt %s --sinter-evaluate -o /dev/null
// Four tokens, three experts, two a token; the second expert has no rows. Check ops judge.

// Ties go to the lower index, NaN is last.
func.func @top_k() {
  %x = sinter.constant dense<[[1.0, 3.0, 3.0, 0.0], [0x7FF8000000000000, -1.0, 2.0, -1.0]]> : tensor<2x4xf64>
  %values, %indices = sinter.top_k %x : (tensor<2x4xf64>) -> (tensor<2x3xf64>, tensor<2x3xi32>)
  check.expect_const %values, dense<[[3.0, 3.0, 1.0], [2.0, -1.0, -1.0]]> : tensor<2x3xf64> : tensor<2x3xf64>
  check.expect_const %indices, dense<[[1, 2, 0], [2, 1, 3]]> : tensor<2x3xi32> : tensor<2x3xi32>
  return
}

// An id outside of the experts is the nearest one's.
func.func @route() {
  %ids = sinter.constant dense<[[0, 2], [2, 0], [2, 7], [-1, 2]]> : tensor<4x2xi32>
  %order, %tokens, %places, %offsets = sinter.route %ids : (tensor<4x2xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<4x2xi32>, tensor<4xi32>)
  check.expect_const %order, dense<[0, 3, 6, 1, 2, 4, 5, 7]> : tensor<8xi32> : tensor<8xi32>
  check.expect_const %tokens, dense<[0, 1, 3, 0, 1, 2, 2, 3]> : tensor<8xi32> : tensor<8xi32>
  check.expect_const %places, dense<[[0, 3], [4, 1], [5, 6], [2, 7]]> : tensor<4x2xi32> : tensor<4x2xi32>
  check.expect_const %offsets, dense<[0, 3, 3, 8]> : tensor<4xi32> : tensor<4xi32>
  return
}

func.func @dispatch() {
  %x = sinter.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>
  %tokens = sinter.constant dense<[1, 0, 0, 1]> : tensor<4xi32>
  %places = sinter.constant dense<[[1, 2], [0, 3]]> : tensor<2x2xi32>
  %0 = sinter.dispatch %x, %tokens, %places : (tensor<2x2xf64>, tensor<4xi32>, tensor<2x2xi32>) -> tensor<4x2xf64>
  check.expect_const %0, dense<[[3.0, 4.0], [1.0, 2.0], [1.0, 2.0], [3.0, 4.0]]> : tensor<4x2xf64> : tensor<4x2xf64>
  return
}

func.func @combine() {
  %y = sinter.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf64>
  %places = sinter.constant dense<[[1, 2], [3, 0]]> : tensor<2x2xi32>
  %order = sinter.constant dense<[3, 0, 1, 2]> : tensor<4xi32>
  %tokens = sinter.constant dense<[1, 0, 0, 1]> : tensor<4xi32>
  %p = sinter.constant dense<[[0.5, 2.0], [1.0, -1.0]]> : tensor<2x2xf64>
  %0 = sinter.combine %y, %places, %tokens, %order, %p : (tensor<4x2xf64>, tensor<2x2xi32>, tensor<4xi32>, tensor<4xi32>, tensor<2x2xf64>) -> tensor<2x2xf64>
  check.expect_const %0, dense<[[11.5, 14.0], [6.0, 6.0]]> : tensor<2x2xf64> : tensor<2x2xf64>
  %1 = sinter.combine %y, %places, %tokens, %order : (tensor<4x2xf64>, tensor<2x2xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<2x2xf64>
  check.expect_const %1, dense<[[8.0, 10.0], [8.0, 10.0]]> : tensor<2x2xf64> : tensor<2x2xf64>
  return
}

func.func @grouped() {
  %x = sinter.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf64>
  %w = sinter.constant dense<[[[1.0, 0.0], [0.0, 1.0]], [[9.0, 9.0], [9.0, 9.0]], [[2.0, 1.0], [0.0, 3.0]]]> : tensor<3x2x2xf64>
  %o = sinter.constant dense<[0, 1, 1, 3]> : tensor<4xi32>
  %0 = sinter.grouped_matmul %x, %w, %o : (tensor<3x2xf64>, tensor<3x2x2xf64>, tensor<4xi32>) -> tensor<3x2xf64>
  check.expect_const %0, dense<[[1.0, 2.0], [6.0, 15.0], [10.0, 23.0]]> : tensor<3x2xf64> : tensor<3x2xf64>
  %1 = sinter.grouped_matmul %x, %w, %o {transpose_rhs} : (tensor<3x2xf64>, tensor<3x2x2xf64>, tensor<4xi32>) -> tensor<3x2xf64>
  check.expect_const %1, dense<[[1.0, 2.0], [10.0, 12.0], [16.0, 18.0]]> : tensor<3x2xf64> : tensor<3x2xf64>
  %2 = sinter.grouped_outer %x, %x, %o : (tensor<3x2xf64>, tensor<3x2xf64>, tensor<4xi32>) -> tensor<3x2x2xf64>
  check.expect_const %2, dense<[[[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[34.0, 42.0], [42.0, 52.0]]]> : tensor<3x2x2xf64> : tensor<3x2x2xf64>
  return
}

// Each row of a matrix has a scale, and a minimum, for two elements along k.
func.func @grouped_integers() {
  %x = sinter.constant dense<[[1.0, 2.0, 1.0, 0.0], [1.0, 0.0, 2.0, 1.0]]> : tensor<2x4xf64>
  %w = sinter.constant dense<[[[1, -8, 2, 3], [4, 0, 1, 7]], [[9, 9, 9, 9], [9, 9, 9, 9]], [[1, 1, -1, 2], [0, 2, 3, 4]]]> : tensor<3x2x4xi8>
  %s = sinter.constant dense<[[[1.0, 2.0], [0.5, 1.0]], [[9.0, 9.0], [9.0, 9.0]], [[2.0, 3.0], [1.0, -1.0]]]> : tensor<3x2x2xf64>
  %m = sinter.constant dense<[[[0.0, 1.0], [1.0, 0.0]], [[9.0, 9.0], [9.0, 9.0]], [[0.5, 0.0], [0.0, 1.0]]]> : tensor<3x2x2xf64>
  %o = sinter.constant dense<[0, 1, 1, 2]> : tensor<4xi32>
  %0 = sinter.grouped_matmul %x, %w, %o scales %s {transpose_rhs} : (tensor<2x4xf64>, tensor<3x2x4xi8>, tensor<4xi32>, tensor<3x2x2xf64>) -> tensor<2x2xf64>
  check.expect_const %0, dense<[[-11.0, 3.0], [2.0, -10.0]]> : tensor<2x2xf64> : tensor<2x2xf64>
  %1 = sinter.grouped_matmul %x, %w, %o scales %s minima %m {transpose_rhs} : (tensor<2x4xf64>, tensor<3x2x4xi8>, tensor<4xi32>, tensor<3x2x2xf64>, tensor<3x2x2xf64>) -> tensor<2x2xf64>
  check.expect_const %1, dense<[[-10.0, 6.0], [2.5, -7.0]]> : tensor<2x2xf64> : tensor<2x2xf64>
  %wt = sinter.transpose %w {permutation = array<i64: 0, 2, 1>} : (tensor<3x2x4xi8>) -> tensor<3x4x2xi8>
  %st = sinter.transpose %s {permutation = array<i64: 0, 2, 1>} : (tensor<3x2x2xf64>) -> tensor<3x2x2xf64>
  %mt = sinter.transpose %m {permutation = array<i64: 0, 2, 1>} : (tensor<3x2x2xf64>) -> tensor<3x2x2xf64>
  %2 = sinter.grouped_matmul %x, %wt, %o scales %st minima %mt : (tensor<2x4xf64>, tensor<3x4x2xi8>, tensor<4xi32>, tensor<3x2x2xf64>, tensor<3x2x2xf64>) -> tensor<2x2xf64>
  check.expect_const %2, dense<[[-10.0, 6.0], [2.5, -7.0]]> : tensor<2x2xf64> : tensor<2x2xf64>
  return
}

// Matrices side by side, each in panels of its own.
func.func @pack() {
  %x = sinter.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]> : tensor<3x4xf32>
  %packed = sinter.pack %x : (tensor<3x4xf32>) -> tensor<2x3x2xf32, #sinter.panels<width = 2, interleave = 1, depth = 4>>
  %rows = sinter.constant dense<[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]> : tensor<2x3xf32>
  %offsets = sinter.constant dense<[0, 1, 2]> : tensor<3xi32>
  %y = sinter.grouped_matmul %rows, %packed, %offsets : (tensor<2x3xf32>, tensor<2x3x2xf32, #sinter.panels<width = 2, interleave = 1, depth = 4>>, tensor<3xi32>) -> tensor<2x2xf32>
  check.expect_const %y, dense<[[1.0, 2.0], [11.0, 12.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  return
}
