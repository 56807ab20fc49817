// RUN: sinter-opt %s --sinter-evaluate -o /dev/null

// Rows in turn: the largest, of two the first; NaNs left out; nothing but NaNs; an infinite one;
// top-k of 1 at any temperature.
func.func @greedy() {
  %l = sinter.constant dense<[[1.0, 3.0, 3.0, 2.0], [0x7FC00000, -5.0, 0x7FC00000, -6.0], [0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000], [0.0, 1.0, 0x7F800000, 2.0], [1.0, 2.0, 4.0, 3.0]]> : tensor<5x4xf32>
  %t = sinter.constant dense<[0.0, 0.0, 1.0, 1.0, 100.0]> : tensor<5xf32>
  %k = sinter.constant dense<[0, 0, 0, 0, 1]> : tensor<5xi32>
  %p = sinter.constant dense<1.0> : tensor<5xf32>
  %s = sinter.constant dense<7> : tensor<5x2xi32>
  %c = sinter.constant dense<1> : tensor<5xi32>
  %0 = sinter.sample %l, %t, %k, %p, %s, %c, %c : (tensor<5x4xf32>, tensor<5xf32>, tensor<5xi32>, tensor<5xf32>, tensor<5x2xi32>, tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
  check.expect_const %0, dense<[1, 1, 0, 2, 2]> : tensor<5xi32> : tensor<5xi32>
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
  %0 = sinter.sample %l, %t, %k, %p, %s, %b, %c : (tensor<5x4xf32>, tensor<5xf32>, tensor<5xi32>, tensor<5xf32>, tensor<5x2xi32>, tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
  check.expect_const %0, dense<[1, 0, 2, 3, 1]> : tensor<5xi32> : tensor<5xi32>
  return
}
