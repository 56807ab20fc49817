// RUN: sinter-opt %s --sinter-evaluate -o /dev/null
// Expected values are the second steps of torch.optim.AdamW and torch.optim.SGD in double precision,
// from the state that the first left; check ops judge.

func.func @adamw() {
  %p = sinter.constant dense<[[0.4895000009999999, -1.2387500005, 0.7392500003333333], [1.9880000019999997, -0.124875, 0.30969999974999995]]> : tensor<2x3xf64>
  %g = sinter.constant dense<[[-0.3, 0.25, 0.6], [0.1, -0.05, 0.2]]> : tensor<2x3xf64>
  %m = sinter.constant dense<[[0.01, -0.02, 0.03], [0.005, 0.0, -0.04]]> : tensor<2x3xf64>
  %v = sinter.constant dense<[[0.0005, 0.002, 0.0045], [0.000125, 0.0, 0.008]]> : tensor<2x3xf64>
  %scale = sinter.constant dense<0.5> : tensor<f64>
  %rate = sinter.constant dense<0.01> : tensor<f64>
  %c1 = sinter.constant dense<0.19> : tensor<f64>
  %c2 = sinter.constant dense<0.0975> : tensor<f64>
  %r:3 = sinter.adamw %p, %g, %m, %v, %scale, %rate, %c1, %c2 {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>)
  check.expect_const %r#0, dense<[[0.4914756315954072, -1.2357656586098393, 0.7285107506663333], [1.9760120039979991, -0.11740052908222459, 0.31413795888256063]]> : tensor<2x3xf64> : tensor<2x3xf64>
  check.expect_const %r#1, dense<[[-0.006, -0.0055, 0.057], [0.0095, -0.0025, -0.026]]> : tensor<2x3xf64> : tensor<2x3xf64>
  check.expect_const %r#2, dense<[[0.0016, 0.00268125, 0.008775], [0.00024375, 3.125e-05, 0.0081]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

// A step that overflowed changes nothing, but for the accumulator, which is cleared.
func.func @adamw_overflow() {
  %p = sinter.constant dense<[[0.4895000009999999, -1.2387500005, 0.7392500003333333], [1.9880000019999997, -0.124875, 0.30969999974999995]]> : tensor<2x3xf64>
  %g = sinter.constant dense<[[-0.3, 0.25, 0.6], [0.1, -0.05, 0.2]]> : tensor<2x3xf64>
  %m = sinter.constant dense<[[0.01, -0.02, 0.03], [0.005, 0.0, -0.04]]> : tensor<2x3xf64>
  %v = sinter.constant dense<[[0.0005, 0.002, 0.0045], [0.000125, 0.0, 0.008]]> : tensor<2x3xf64>
  %scale = sinter.constant dense<0x7FF0000000000000> : tensor<f64>
  %rate = sinter.constant dense<0.01> : tensor<f64>
  %c1 = sinter.constant dense<0.19> : tensor<f64>
  %c2 = sinter.constant dense<0.0975> : tensor<f64>
  %r:4 = sinter.adamw %p, %g, %m, %v, %scale, %rate, %c1, %c2 {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>)
  check.expect_const %r#0, dense<[[0.4895000009999999, -1.2387500005, 0.7392500003333333], [1.9880000019999997, -0.124875, 0.30969999974999995]]> : tensor<2x3xf64> : tensor<2x3xf64>
  check.expect_const %r#1, dense<[[0.01, -0.02, 0.03], [0.005, 0.0, -0.04]]> : tensor<2x3xf64> : tensor<2x3xf64>
  check.expect_const %r#2, dense<[[0.0005, 0.002, 0.0045], [0.000125, 0.0, 0.008]]> : tensor<2x3xf64> : tensor<2x3xf64>
  check.expect_const %r#3, dense<0.0> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

// States of bf16: m is rounded to nearest, v with the halves 0xE93C, 0xC689, 0x12F7 and 0xE4BE up, up,
// down and up; the parameter is made of what they were before.
func.func @adamw_narrow() {
  %p = sinter.constant dense<[0.5, -1.25, 0.75, 2.0]> : tensor<4xf32>
  %g = sinter.constant dense<[-0.3, 0.25, 0.6, 0.1]> : tensor<4xf32>
  %m = sinter.constant dense<[0x3C24, 0xBCA4, 0x3CF6, 0x3BA4]> : tensor<4xbf16>
  %v = sinter.constant dense<[0x3A03, 0x3B03, 0x3B93, 0x3903]> : tensor<4xbf16>
  %scale = sinter.constant dense<0.5> : tensor<f32>
  %rate = sinter.constant dense<0.01> : tensor<f32>
  %c1 = sinter.constant dense<0.19> : tensor<f32>
  %c2 = sinter.constant dense<0.0975> : tensor<f32>
  %seed = sinter.constant dense<[5, 6]> : tensor<2xi32>
  %tag = sinter.constant dense<[7, -1]> : tensor<2xi32>
  %r:3 = sinter.adamw %p, %g, %m, %v, %scale, %rate, %c1, %c2, %seed, %tag {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16>)
  check.expect_const %r#0, dense<[0.5019617080688477, -1.2469984292984009, 0.7392378449440002, 1.9879940748214722]> : tensor<4xf32> {tolerance = 1.0e-6} : tensor<4xf32>
  check.expect_const %r#1, dense<[0xBBC4, 0xBBB5, 0x3D6A, 0x3C1C]> : tensor<4xbf16> : tensor<4xbf16>
  check.expect_const %r#2, dense<[0x3AD2, 0x3B30, 0x3C0F, 0x3980]> : tensor<4xbf16> : tensor<4xbf16>
  return
}

// A step that overflowed leaves states of bf16 as they are, whatever is added to them.
func.func @adamw_narrow_overflow() {
  %p = sinter.constant dense<[0.5, -1.25, 0.75, 2.0]> : tensor<4xf32>
  %m = sinter.constant dense<[0x3C24, 0xBCA4, 0x3CF6, 0x3BA4]> : tensor<4xbf16>
  %v = sinter.constant dense<[0x3A03, 0x3B03, 0x3B93, 0x3903]> : tensor<4xbf16>
  %scale = sinter.constant dense<0x7F800000> : tensor<f32>
  %seed = sinter.constant dense<[5, 6]> : tensor<2xi32>
  %r:3 = sinter.adamw %p, %p, %m, %v, %scale, %scale, %scale, %scale, %seed, %seed {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4xf32>, tensor<4xbf16>, tensor<4xbf16>)
  check.expect_const %r#0, dense<[0.5, -1.25, 0.75, 2.0]> : tensor<4xf32> : tensor<4xf32>
  check.expect_const %r#1, dense<[0x3C24, 0xBCA4, 0x3CF6, 0x3BA4]> : tensor<4xbf16> : tensor<4xbf16>
  check.expect_const %r#2, dense<[0x3A03, 0x3B03, 0x3B93, 0x3903]> : tensor<4xbf16> : tensor<4xbf16>
  return
}

func.func @sgd_narrow() {
  %p = sinter.constant dense<[0.5, -1.25, 0.75, 2.0]> : tensor<4xf32>
  %g = sinter.constant dense<[-0.3, 0.25, 0.6, 0.1]> : tensor<4xf32>
  %v = sinter.constant dense<[0x3E1A, 0xBEA6, 0x3EC0, 0x3E80]> : tensor<4xbf16>
  %scale = sinter.constant dense<0.5> : tensor<f32>
  %rate = sinter.constant dense<0.01> : tensor<f32>
  %r:2 = sinter.sgd %p, %g, %scale, %rate, %v {momentum = 0.9, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.1}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xbf16>)
  check.expect_const %r#0, dense<[0.49964648485183716, -1.247081995010376, 0.7428749799728394, 1.9952499866485596]> : tensor<4xf32> {tolerance = 1.0e-6} : tensor<4xf32>
  check.expect_const %r#1, dense<[0x3D11, 0xBE95, 0x3F36, 0x3EF3]> : tensor<4xbf16> : tensor<4xbf16>
  return
}

func.func @sgd_momentum() {
  %p = sinter.constant dense<[[0.4985, -1.24675, 0.74625], [1.9975, -0.124875, 0.3037]]> : tensor<2x3xf64>
  %g = sinter.constant dense<[[-0.3, 0.25, 0.6], [0.1, -0.05, 0.2]]> : tensor<2x3xf64>
  %scale = sinter.constant dense<0.5> : tensor<f64>
  %rate = sinter.constant dense<0.01> : tensor<f64>
  %v = sinter.constant dense<[[0.15, -0.325, 0.375], [0.25, -0.0125, -0.37]]> : tensor<2x3xf64>
  %r:2 = sinter.sgd %p, %g, %scale, %rate, %v {momentum = 0.9, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.1}
      : (tensor<2x3xf64>, tensor<2x3xf64>, tensor<f64>, tensor<f64>, tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>)
  check.expect_const %r#0, dense<[[0.4981515, -1.24382825, 0.73912875], [1.9927525, -0.124387625, 0.3057263]]> : tensor<2x3xf64> : tensor<2x3xf64>
  check.expect_const %r#1, dense<[[0.03485, -0.292175, 0.712125], [0.47475, -0.0487375, -0.20263]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @sgd_nesterov() {
  %p = sinter.constant dense<[[0.49715, -1.243825, 0.742875], [1.99525, -0.1247625, 0.30703]]> : tensor<2x3xf64>
  %g = sinter.constant dense<[[-0.3, 0.25, 0.6], [0.1, -0.05, 0.2]]> : tensor<2x3xf64>
  %scale = sinter.constant dense<0.5> : tensor<f64>
  %rate = sinter.constant dense<0.01> : tensor<f64>
  %v = sinter.constant dense<[[0.15, -0.325, 0.375], [0.25, -0.0125, -0.37]]> : tensor<2x3xf64>
  %r:3 = sinter.sgd %p, %g, %scale, %rate, %v {momentum = 0.9, nesterov, resultSegmentSizes = array<i32: 1, 1, 1>, weight_decay = 0.1}
      : (tensor<2x3xf64>, tensor<2x3xf64>, tensor<f64>, tensor<f64>, tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>)
  check.expect_const %r#0, dense<[[0.497840415, -1.2412042325, 0.7327260375], [1.988484025, -0.12394920125, 0.307543643]]> : tensor<2x3xf64> : tensor<2x3xf64>
  check.expect_const %r#1, dense<[[0.034715, -0.2918825, 0.7117875], [0.474525, -0.04872625, -0.202297]]> : tensor<2x3xf64> : tensor<2x3xf64>
  check.expect_const %r#2, dense<0.0> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @sgd_plain() {
  %p = sinter.constant dense<[[0.5, -1.25, 0.75], [2.0, -0.125, 0.3]]> : tensor<2x3xf64>
  %g = sinter.constant dense<[[-0.3, 0.25, 0.6], [0.1, -0.05, 0.2]]> : tensor<2x3xf64>
  %scale = sinter.constant dense<0.5> : tensor<f64>
  %rate = sinter.constant dense<0.01> : tensor<f64>
  %r = sinter.sgd %p, %g, %scale, %rate {momentum = 0.0, resultSegmentSizes = array<i32: 1, 0, 0>, weight_decay = 0.1}
      : (tensor<2x3xf64>, tensor<2x3xf64>, tensor<f64>, tensor<f64>) -> tensor<2x3xf64>
  check.expect_const %r, dense<[[0.501, -1.25, 0.74625], [1.9975, -0.124625, 0.2987]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @sgd_overflow() {
  %p = sinter.constant dense<[[0.4985, -1.24675, 0.74625], [1.9975, -0.124875, 0.3037]]> : tensor<2x3xf64>
  %g = sinter.constant dense<[[-0.3, 0.25, 0.6], [0.1, -0.05, 0.2]]> : tensor<2x3xf64>
  %scale = sinter.constant dense<0x7FF8000000000000> : tensor<f64>
  %rate = sinter.constant dense<0.01> : tensor<f64>
  %v = sinter.constant dense<[[0.15, -0.325, 0.375], [0.25, -0.0125, -0.37]]> : tensor<2x3xf64>
  %r:2 = sinter.sgd %p, %g, %scale, %rate, %v {momentum = 0.9, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.1}
      : (tensor<2x3xf64>, tensor<2x3xf64>, tensor<f64>, tensor<f64>, tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>)
  check.expect_const %r#0, dense<[[0.4985, -1.24675, 0.74625], [1.9975, -0.124875, 0.3037]]> : tensor<2x3xf64> : tensor<2x3xf64>
  check.expect_const %r#1, dense<[[0.15, -0.325, 0.375], [0.25, -0.0125, -0.37]]> : tensor<2x3xf64> : tensor<2x3xf64>
  return
}

func.func @square_sum() {
  %x = sinter.constant dense<[[0.5, -1.25, 0.75], [2.0, -0.125, 0.3]]> : tensor<2x3xf64>
  %before = sinter.constant dense<[1.0, -2.0]> : tensor<2xf64>
  %0 = sinter.square_sum %x : (tensor<2x3xf64>) -> tensor<2xf64>
  check.expect_const %0, dense<[2.375, 4.105625]> : tensor<2xf64> : tensor<2xf64>
  %1 = sinter.square_sum %x, %before : (tensor<2x3xf64>, tensor<2xf64>) -> tensor<2xf64>
  check.expect_const %1, dense<[3.375, 2.105625]> : tensor<2xf64> : tensor<2xf64>
  return
}

func.func @carry() {
  %sum = sinter.constant dense<[0.5, -1.25, 0.75]> : tensor<3xf64>
  %term = sinter.constant dense<[1.0, 0.25, -2.0]> : tensor<3xf64>
  %r:2 = sinter.carry %sum, %term : (tensor<3xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>)
  check.expect_const %r#0, dense<[1.5, -1.0, -1.25]> : tensor<3xf64> : tensor<3xf64>
  check.expect_const %r#1, dense<0.0> : tensor<3xf64> : tensor<3xf64>
  return
}
