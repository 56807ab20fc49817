// RUN: sinter-opt %s --sinter-evaluate -o /dev/null
// Expected values were computed with NumPy in double precision; check ops judge.

func.func @broadcast() {
  %c0 = sinter.constant dense<[[0.0, 1.0, 2.0, 3.0], [12.0, 13.0, 14.0, 15.0]]> : tensor<2x4xf64>
  %r1 = sinter.broadcast %c0 {dims = array<i64: 0, 2>} : (tensor<2x4xf64>) -> tensor<2x3x4xf64>
  check.expect_const %r1, dense<[[[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]], [[12.0, 13.0, 14.0, 15.0], [12.0, 13.0, 14.0, 15.0], [12.0, 13.0, 14.0, 15.0]]]> : tensor<2x3x4xf64> : tensor<2x3x4xf64>
  return
}

func.func @reshape() {
  %c0 = sinter.constant dense<[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]], [[12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0]]]> : tensor<2x3x4xf64>
  %r1 = sinter.reshape %c0 : (tensor<2x3x4xf64>) -> tensor<6x4xf64>
  check.expect_const %r1, dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0], [12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0]]> : tensor<6x4xf64> : tensor<6x4xf64>
  return
}

func.func @transpose() {
  %c0 = sinter.constant dense<[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]], [[12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0]]]> : tensor<2x3x4xf64>
  %r1 = sinter.transpose %c0 {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>
  check.expect_const %r1, dense<[[[0.0, 4.0, 8.0], [12.0, 16.0, 20.0]], [[1.0, 5.0, 9.0], [13.0, 17.0, 21.0]], [[2.0, 6.0, 10.0], [14.0, 18.0, 22.0]], [[3.0, 7.0, 11.0], [15.0, 19.0, 23.0]]]> : tensor<4x2x3xf64> : tensor<4x2x3xf64>
  return
}

func.func @slice() {
  %c0 = sinter.constant dense<[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]], [[12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0]]]> : tensor<2x3x4xf64>
  %r1 = sinter.slice %c0 {offsets = array<i64: 1, 0, 1>} : (tensor<2x3x4xf64>) -> tensor<1x2x3xf64>
  check.expect_const %r1, dense<[[[13.0, 14.0, 15.0], [17.0, 18.0, 19.0]]]> : tensor<1x2x3xf64> : tensor<1x2x3xf64>
  return
}

func.func @concat() {
  %c0 = sinter.constant dense<[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]], [[12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0]]]> : tensor<2x3x4xf64>
  %c1 = sinter.constant dense<[[[0.0, 1.0, 2.0, 3.0]], [[12.0, 13.0, 14.0, 15.0]]]> : tensor<2x1x4xf64>
  %r2 = sinter.concat %c0, %c1 {dim = 1 : i64} : (tensor<2x3x4xf64>, tensor<2x1x4xf64>) -> tensor<2x4x4xf64>
  check.expect_const %r2, dense<[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0], [0.0, 1.0, 2.0, 3.0]], [[12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0], [12.0, 13.0, 14.0, 15.0]]]> : tensor<2x4x4xf64> : tensor<2x4x4xf64>
  return
}

func.func @positions() {
  %c0 = sinter.constant dense<[3, 0]> : tensor<2xi32>
  %r1 = sinter.positions %c0 : (tensor<2xi32>) -> tensor<2x4xi32>
  check.expect_const %r1, dense<[[3, 4, 5, 6], [0, 1, 2, 3]]> : tensor<2x4xi32> : tensor<2x4xi32>
  return
}

func.func @embedding() {
  %c0 = sinter.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0], [9.0, 10.0, 11.0], [12.0, 13.0, 14.0]]> : tensor<5x3xf64>
  %c1 = sinter.constant dense<[[4, 0], [-7, 9]]> : tensor<2x2xi32>
  %r2 = sinter.embedding %c0, %c1 : (tensor<5x3xf64>, tensor<2x2xi32>) -> tensor<2x2x3xf64>
  check.expect_const %r2, dense<[[[12.0, 13.0, 14.0], [0.0, 1.0, 2.0]], [[0.0, 1.0, 2.0], [12.0, 13.0, 14.0]]]> : tensor<2x2x3xf64> : tensor<2x2x3xf64>
  return
}

func.func @embedding_transposed() {
  %c0 = sinter.constant dense<[[0.0, 3.0, 6.0, 9.0, 12.0], [1.0, 4.0, 7.0, 10.0, 13.0], [2.0, 5.0, 8.0, 11.0, 14.0]]> : tensor<3x5xf64>
  %c1 = sinter.constant dense<[[4, 0], [-7, 9]]> : tensor<2x2xi32>
  %r2 = sinter.embedding %c0, %c1 {transpose_table} : (tensor<3x5xf64>, tensor<2x2xi32>) -> tensor<2x2x3xf64>
  check.expect_const %r2, dense<[[[12.0, 13.0, 14.0], [0.0, 1.0, 2.0]], [[0.0, 1.0, 2.0], [12.0, 13.0, 14.0]]]> : tensor<2x2x3xf64> : tensor<2x2x3xf64>
  return
}

func.func @last_row() {
  %c0 = sinter.constant dense<[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]], [[12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0]]]> : tensor<2x3x4xf64>
  %c1 = sinter.constant dense<[2, 0]> : tensor<2xi32>
  %r2 = sinter.last_row %c0, %c1 : (tensor<2x3x4xf64>, tensor<2xi32>) -> tensor<2x4xf64>
  check.expect_const %r2, dense<[[4.0, 5.0, 6.0, 7.0], [12.0, 13.0, 14.0, 15.0]]> : tensor<2x4xf64> : tensor<2x4xf64>
  return
}

func.func @one_hot() {
  %c0 = sinter.constant dense<[[2, 0], [-1, 3]]> : tensor<2x2xi32>
  %r1 = sinter.one_hot %c0 : (tensor<2x2xi32>) -> tensor<2x2x3xf64>
  check.expect_const %r1, dense<[[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]> : tensor<2x2x3xf64> : tensor<2x2x3xf64>
  return
}

func.func @pick() {
  %c0 = sinter.constant dense<[[[-0.802, -1.324, -0.248], [0.42, 1.136, 0.11]], [[-0.553, -0.785, 0.749], [1.635, 0.273, -1.233]]]> : tensor<2x2x3xf64>
  %c1 = sinter.constant dense<[[2, 0], [-1, 3]]> : tensor<2x2xi32>
  %r2 = sinter.pick %c0, %c1 : (tensor<2x2x3xf64>, tensor<2x2xi32>) -> tensor<2x2xf64>
  check.expect_const %r2, dense<[[-0.248, 0.42], [0.0, 0.0]]> : tensor<2x2xf64> : tensor<2x2xf64>
  return
}
