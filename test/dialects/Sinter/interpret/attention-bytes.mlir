// RUN: sinter-opt %s --sinter-evaluate -o /dev/null
// Expected values were computed in double precision; check ops judge.

func.func @quantize_e4m3() {
  // 448 / 2 is the largest; 17 / 0.5 = 34 lies between 32 and 36, a tie; 2^-11 / 0.5 is the half of a step.
  %x = sinter.constant dense<[[-224.0, 17.0, 0.3, 0.00048828125], [0.0, 0.0, 0.0, 0.0]]> : tensor<2x4xf32>
  %q, %s = sinter.quantize %x : (tensor<2x4xf32>) -> (tensor<2x4xf8E4M3FN>, tensor<2x1xf32>)
  check.expect_const %q, dense<[[-448.0, 32.0, 0.625, 0.0], [0.0, 0.0, 0.0, 0.0]]> : tensor<2x4xf8E4M3FN> : tensor<2x4xf8E4M3FN>
  check.expect_const %s, dense<[[0.5], [0.0]]> : tensor<2x1xf32> : tensor<2x1xf32>
  return
}

func.func @attention_int8() {
  %q = sinter.constant dense<[[[[1.0, -2.0], [0.5, 0.25]]]]> : tensor<1x1x2x2xf64>
  %k = sinter.constant dense<[[[[127, -3]], [[0, 64]], [[-127, 1]]]]> : tensor<1x3x1x2xi8>
  %v = sinter.constant dense<[[[[10, -127]], [[127, 5]], [[1, 2]]]]> : tensor<1x3x1x2xi8>
  %ks = sinter.constant dense<[[[[0.0078125]], [[0.015625]], [[0.00390625]]]]> : tensor<1x3x1x1xf32>
  %vs = sinter.constant dense<[[[[0.125]], [[0.0078125]], [[0.5]]]]> : tensor<1x3x1x1xf32>
  %y = sinter.attention %q, %k, %v, %ks, %vs {scale = 0.5, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1>} : (tensor<1x1x2x2xf64>, tensor<1x3x1x2xi8>, tensor<1x3x1x2xi8>, tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>) -> tensor<1x1x2x2xf64>
  check.expect_const %y, dense<[[[[1.0101879428805136, -9.162901139795796], [0.9601466460442305, -5.875042337786893]]]]> : tensor<1x1x2x2xf64> : tensor<1x1x2x2xf64>
  return
}

func.func @attention_e4m3() {
  %q = sinter.constant dense<[[[[1.0, -2.0], [0.5, 0.25]]]]> : tensor<1x1x2x2xf64>
  %k = sinter.constant dense<[[[[448.0, -3.25]], [[0.0, 64.0]], [[-120.0, 0.001953125]]]]> : tensor<1x3x1x2xf8E4M3FN>
  %v = sinter.constant dense<[[[[10.0, -128.0]], [[112.0, 5.0]], [[1.0, 2.0]]]]> : tensor<1x3x1x2xf8E4M3FN>
  %ks = sinter.constant dense<[[[[0.0078125]], [[0.015625]], [[0.00390625]]]]> : tensor<1x3x1x1xf32>
  %vs = sinter.constant dense<[[[[0.125]], [[0.0078125]], [[0.5]]]]> : tensor<1x3x1x1xf32>
  %y = sinter.attention %q, %k, %v, %ks, %vs {scale = 0.5, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1>} : (tensor<1x1x2x2xf64>, tensor<1x3x1x2xf8E4M3FN>, tensor<1x3x1x2xf8E4M3FN>, tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>) -> tensor<1x1x2x2xf64>
  check.expect_const %y, dense<[[[[1.146446007430132, -13.260018776986477], [1.0025975672094085, -8.456737154863454]]]]> : tensor<1x1x2x2xf64> : tensor<1x1x2x2xf64>
  return
}

func.func @cache_append_bytes() {
  %c = sinter.constant dense<[[[[1, 2]], [[3, 4]], [[5, 6]]]]> : tensor<1x3x1x2xi8>
  %r = sinter.constant dense<[[[[-127, 7]], [[8, 9]]]]> : tensor<1x2x1x2xi8>
  %start = sinter.constant dense<1> : tensor<1xi32>
  %count = sinter.constant dense<1> : tensor<1xi32>
  %y = sinter.cache_append %c, %r, %start, %count : (tensor<1x3x1x2xi8>, tensor<1x2x1x2xi8>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x3x1x2xi8>
  check.expect_const %y, dense<[[[[1, 2]], [[-127, 7]], [[5, 6]]]]> : tensor<1x3x1x2xi8> : tensor<1x3x1x2xi8>
  return
}
