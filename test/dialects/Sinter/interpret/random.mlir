// RUN: sinter-opt %s --sinter-evaluate -o /dev/null

// Rows in turn: the largest, of two the first; some NaNs; nothing but NaNs; an infinite one; top-k of
// 1 at any temperature; nothing but minus infinity.
func.func @greedy() {
  %l = sinter.constant dense<[[1.0, 3.0, 3.0, 2.0], [0x7FC00000, -5.0, 0x7FC00000, -6.0], [0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000], [0.0, 1.0, 0x7F800000, 2.0], [1.0, 2.0, 4.0, 3.0], [0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000]]> : tensor<6x4xf32>
  %t = sinter.constant dense<[0.0, 0.0, 1.0, 1.0, 100.0, 0.0]> : tensor<6xf32>
  %k = sinter.constant dense<[0, 0, 0, 0, 1, 0]> : tensor<6xi32>
  %p = sinter.constant dense<1.0> : tensor<6xf32>
  %s = sinter.constant dense<7> : tensor<6x2xi32>
  %c = sinter.constant dense<1> : tensor<6xi32>
  %m = sinter.constant dense<0.0> : tensor<6xf32>
  %0 = sinter.sample %l, %t, %k, %p, %m, %s, %c, %c : (tensor<6x4xf32>, tensor<6xf32>, tensor<6xi32>, tensor<6xf32>, tensor<6xf32>, tensor<6x2xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
  check.expect_const %0, dense<[1, -1, -1, -1, 2, -1]> : tensor<6xi32> : tensor<6xi32>
  return
}

// With the counter and the key 0, Philox4x32-10 begins with the word 0x6627e8d5: u is 0.399. Rows
// in turn: of four equal ids 0.399 * 4 is in the second; the first two of them, of which 0.399 * 2 is
// in the first; the one that has more than half of all; those with a larger logit come first, so
// that 0.399 of e + 2 is in the last id; a position, 2^32 - 1 + 1, that is 0 again.
func.func @draws() {
  %l = sinter.constant dense<[[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]> : tensor<5x4xf32>
  %t = sinter.constant dense<[1.0, 0.5, 1.0, 1.0, 1.0]> : tensor<5xf32>
  %k = sinter.constant dense<[0, 2, 0, 3, 5]> : tensor<5xi32>
  %p = sinter.constant dense<[1.0, 1.0, 0.5, 1.0, 1.0]> : tensor<5xf32>
  %s = sinter.constant dense<0> : tensor<5x2xi32>
  %b = sinter.constant dense<[0, 0, 0, 0, -1]> : tensor<5xi32>
  %c = sinter.constant dense<[0, 0, 0, 0, 1]> : tensor<5xi32>
  %m = sinter.constant dense<0.0> : tensor<5xf32>
  %0 = sinter.sample %l, %t, %k, %p, %m, %s, %b, %c : (tensor<5x4xf32>, tensor<5xf32>, tensor<5xi32>, tensor<5xf32>, tensor<5xf32>, tensor<5x2xi32>, tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
  check.expect_const %0, dense<[1, 0, 2, 3, 1]> : tensor<5xi32> : tensor<5xi32>
  return
}

// With the same u, of weights 1, 0.5, 0.25 and 0.125 of the likeliest. Rows in turn: of 1.875 without
// a bound; of 1.5 and of 1 with one; at a temperature of a half, where the second weighs a quarter; with
// ids in the order of their logits, 0.399 of 1.5 is in the second; behind top-k, which leaves two of
// which one is large enough.
func.func @least_probability() {
  %l = sinter.constant dense<[[0.0, -0.693147, -1.386294, -2.079442], [-2.079442, -0.693147, 0.0, -1.386294], [0.0, -0.693147, -1.386294, -2.079442], [-0.693147, 0.0, -1.386294, -2.079442], [-2.079442, -0.693147, 0.0, -1.386294], [-0.693147, 0.0, 0.0, -0.693147]]> : tensor<6x4xf32>
  %t = sinter.constant dense<[1.0, 1.0, 1.0, 0.5, 1.0, 1.0]> : tensor<6xf32>
  %k = sinter.constant dense<[0, 0, 0, 0, 0, 3]> : tensor<6xi32>
  %p = sinter.constant dense<1.0> : tensor<6xf32>
  %m = sinter.constant dense<[0.0, 0.49, 1.0, 0.3, 0.2, 0.6]> : tensor<6xf32>
  %s = sinter.constant dense<0> : tensor<6x2xi32>
  %b = sinter.constant dense<0> : tensor<6xi32>
  %0 = sinter.sample %l, %t, %k, %p, %m, %s, %b, %b : (tensor<6x4xf32>, tensor<6xf32>, tensor<6xi32>, tensor<6xf32>, tensor<6xf32>, tensor<6x2xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
  check.expect_const %0, dense<[0, 2, 0, 1, 2, 1]> : tensor<6xi32> : tensor<6xi32>
  return
}

// With the key 0 and the tag 0, the halves that are added to the first elements are 0x6627, 0xF8E4,
// 0x04FA, ...: one less than what would carry and what does, of a negative number too; numbers of
// bf16, the largest of f32, infinity and NaN.
func.func @stochastic_round() {
  %x = sinter.constant dense<[0x3F8099D8, 0xBF80071C, 0x3F80FB05, 0x40490000, 0x7F800000, 0x7F7FFFFF, 0x7FFFFFFF, 0x00000001]> : tensor<8xf32>
  %zero = sinter.constant dense<0> : tensor<2xi32>
  %0 = sinter.stochastic_round %x, %zero, %zero : (tensor<8xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8xbf16>
  %1 = sinter.slice %0 {offsets = array<i64: 0>} : (tensor<8xbf16>) -> tensor<6xbf16>
  check.expect_const %1, dense<[0x3F80, 0xBF81, 0x3F80, 0x4049, 0x7F80, 0x7F80]> : tensor<6xbf16> : tensor<6xbf16>
  %one = sinter.constant dense<1.0> : tensor<8xbf16>
  %two = sinter.constant dense<2.0> : tensor<8xbf16>
  %2 = sinter.where_finite %0, %one, %two : (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  check.expect_const %2, dense<[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0]> : tensor<8xbf16> : tensor<8xbf16>
  return
}

// Another seed and another tag: 0xE93C and 0xC689, which carry from 0x16C4 and 0x3977 on.
func.func @stochastic_round_words() {
  %x = sinter.constant dense<[[0x3F8016C3], [0x3F803977]]> : tensor<2x1xf32>
  %seed = sinter.constant dense<[5, 6]> : tensor<2xi32>
  %tag = sinter.constant dense<[7, -1]> : tensor<2xi32>
  %0 = sinter.stochastic_round %x, %seed, %tag : (tensor<2x1xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x1xbf16>
  check.expect_const %0, dense<[[0x3F80], [0x3F81]]> : tensor<2x1xbf16> : tensor<2x1xbf16>
  return
}
