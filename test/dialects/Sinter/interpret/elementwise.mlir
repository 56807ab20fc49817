// RUN: sinter-opt %s --sinter-evaluate -o /dev/null
// Expected values were computed with NumPy in double precision; check ops judge.

func.func @add() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %c1 = sinter.constant dense<[[-0.537, 0.581, 0.365], [0.294, 0.028, 0.547]]> : tensor<2x3xf64>
  %r2 = sinter.add %c0, %c1 : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r2, dense<[[0.15399999999999991, 2.224, 1.026], [-2.312, 1.839, 1.44]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @sub() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %c1 = sinter.constant dense<[[-0.537, 0.581, 0.365], [0.294, 0.028, 0.547]]> : tensor<2x3xf64>
  %r2 = sinter.sub %c0, %c1 : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r2, dense<[[1.228, 1.062, 0.29600000000000004], [-2.9, 1.783, 0.346]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @mul() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %c1 = sinter.constant dense<[[-0.537, 0.581, 0.365], [0.294, 0.028, 0.547]]> : tensor<2x3xf64>
  %r2 = sinter.mul %c0, %c1 : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r2, dense<[[-0.371067, 0.954583, 0.241265], [-0.766164, 0.050707999999999996, 0.48847100000000004]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @div() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %c1 = sinter.constant dense<[[-0.537, 0.581, 0.365], [0.294, 0.028, 0.547]]> : tensor<2x3xf64>
  %r2 = sinter.div %c0, %c1 : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r2, dense<[[-1.286778398510242, 2.8278829604130813, 1.8109589041095893], [-8.863945578231293, 64.67857142857143, 1.6325411334552102]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @maximum() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %c1 = sinter.constant dense<[[-0.537, 0.581, 0.365], [0.294, 0.028, 0.547]]> : tensor<2x3xf64>
  %r2 = sinter.maximum %c0, %c1 : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r2, dense<[[0.691, 1.643, 0.661], [0.294, 1.811, 0.893]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @minimum() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %c1 = sinter.constant dense<[[-0.537, 0.581, 0.365], [0.294, 0.028, 0.547]]> : tensor<2x3xf64>
  %r2 = sinter.minimum %c0, %c1 : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r2, dense<[[-0.537, 0.581, 0.365], [-2.606, 0.028, 0.547]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @neg() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.neg %c0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[-0.691, -1.643, -0.661], [2.606, -1.811, -0.893]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @exp() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.exp %c0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[1.995710245966461, 5.170658242249862, 1.9367280944551468], [0.0738292709996129, 6.116560935905219, 2.442446009293482]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @tanh() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.tanh %c0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[0.5986240338875992, 0.9278907862471005, 0.5790285239094637], [-0.9891575769468345, 0.9479333682355807, 0.7128723286645772]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @sigmoid() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.sigmoid %c0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[0.6661893447984704, 0.8379427346740576, 0.6594849887914017], [0.0687532673894112, 0.8594826898825955, 0.7095088790643844]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @relu() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.relu %c0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[0.691, 1.643, 0.661], [0.0, 1.811, 0.893]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @silu() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.silu %c0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[0.460336837255743, 1.3767399130694766, 0.43591957759111655], [-0.17917101481680558, 1.5565231513773803, 0.6335914290044953]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @gelu() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.gelu %c0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[0.5218551055681676, 1.5605354203262747, 0.4929036303665823], [-0.01193632195136785, 1.7474874588138498, 0.7269657724044793]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @gelu_tanh() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.gelu %c0 {tanh} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[0.5218020827194724, 1.5603712343422809, 0.49285784477269245], [-0.011470190055665689, 1.7474297170914435, 0.7268508145176572]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @softcap() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [-2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.softcap %c0 {cap = 3.0} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[0.679033896496615, 1.496308152205127, 0.6505072355885761], [-2.102088194394387, 1.6189606382493034, 0.8675275329829668]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @rsqrt() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.rsqrt %c0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[1.2029871166784605, 0.7801555785350865, 1.2299834568337575], [0.6194593240743539, 0.7430889014147991, 1.0582158705422127]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

// The tests are 1, infinity, NaN and -infinity.
func.func @where_finite() {
  %test = sinter.constant dense<[1.0, 0x7FF0000000000000, 0x7FF8000000000000, 0xFFF0000000000000]> : tensor<4xf64>
  %value = sinter.constant dense<[0.1, 0.2, 0.3, 0.4]> : tensor<4xf64>
  %otherwise = sinter.constant dense<[-0.1, -0.2, -0.3, -0.4]> : tensor<4xf64>
  %r1 = sinter.where_finite %test, %value, %otherwise : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  check.expect_const %r1, dense<[0.1, -0.2, -0.3, -0.4]> : tensor<4xf64> : tensor<4xf64>
  return
}

func.func @cast() {
  %c0 = sinter.constant dense<[1, -2]> : tensor<2xi32>
  %r1 = sinter.cast %c0 : (tensor<2xi32>) -> tensor<2xf64>
  check.expect_const %r1, dense<[1.0, -2.0]> : tensor<2xf64> : tensor<2xf64>
  return
}

func.func @log() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.log %c0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[-0.36961545521446726, 0.49652383905513103, -0.41400143913045073], [0.9578164787026533, 0.5938791789012763, -0.11316869810563798]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @sqrt() {
  %c0 = sinter.constant dense<[[0.691, 1.643, 0.661], [2.606, 1.811, 0.893]]> : tensor<2x3xf64>
  %r1 = sinter.sqrt %c0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_const %r1, dense<[[0.8312640976248162, 1.2817956155331474, 0.8130190649671138], [1.6143109985377662, 1.3457340004622014, 0.944986772394196]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @round() {
  %x = sinter.constant dense<[2.5, 3.5, -0.5, -1.5, 1.2, -7.9]> : tensor<6xf64>
  %0 = sinter.round %x : (tensor<6xf64>) -> tensor<6xf64>
  check.expect_const %0, dense<[2.0, 4.0, 0.0, -2.0, 1.0, -8.0]> : tensor<6xf64> : tensor<6xf64>
  return
}
