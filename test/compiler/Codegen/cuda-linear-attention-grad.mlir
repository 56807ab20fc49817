// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels | FileCheck %s

// Misses and gradients of values: 16 columns a block of four heads. Those of queries and keys: 16
// rows a block of two key heads, 8 tokens of two heads at a time.
// CHECK: func.func private @all({{.*}} attributes {sinter.block = 128 : i64, sinter.grid = 80 : i64, {{.*}}sinter.scratch = 20768 : i64, sinter.shared = 54016 : i64
func.func private @all(%q: tensor<1x9x2x128xf32>, %v: tensor<1x9x4x128xf32>, %d: tensor<1x9x4xf32>)
    -> (tensor<1x9x2x128xf32>, tensor<1x9x2x128xf32>, tensor<1x9x4x128xf32>, tensor<1x9x4xf32>, tensor<1x9x4xf32>)
    attributes {sinter.kernel = "linear_attention"} {
  %0:5 = sinter.linear_attention_grad %q, %q, %v, %d, %d, %v {scale = 0.25}
    : (tensor<1x9x2x128xf32>, tensor<1x9x2x128xf32>, tensor<1x9x4x128xf32>, tensor<1x9x4xf32>, tensor<1x9x4xf32>, tensor<1x9x4x128xf32>)
    -> (tensor<1x9x2x128xf32>, tensor<1x9x2x128xf32>, tensor<1x9x4x128xf32>, tensor<1x9x4xf32>, tensor<1x9x4xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<1x9x2x128xf32>, tensor<1x9x2x128xf32>, tensor<1x9x4x128xf32>, tensor<1x9x4xf32>, tensor<1x9x4xf32>
}

// What nobody needs is not written; five heads are gone through one by one, and keys and values
// differ in their lanes.
// CHECK: func.func private @some({{.*}} attributes {sinter.block = 128 : i64, sinter.grid = 96 : i64, {{.*}}sinter.shared = {{[0-9]+}} : i64
func.func private @some(%q: tensor<1x9x1x45xf16>, %k: tensor<1x9x1x45xf32>, %v: tensor<1x9x5x140xf16>, %d: tensor<1x9x5xf32>, %o: tensor<1x9x5x140xbf16>)
    -> (tensor<1x9x5xf32>, tensor<1x9x5x140xf32>) attributes {sinter.kernel = "linear_attention"} {
  %0:5 = sinter.linear_attention_grad %q, %k, %v, %d, %d, %o {scale = 0.25}
    : (tensor<1x9x1x45xf16>, tensor<1x9x1x45xf32>, tensor<1x9x5x140xf16>, tensor<1x9x5xf32>, tensor<1x9x5xf32>, tensor<1x9x5x140xbf16>)
    -> (tensor<1x9x1x45xf32>, tensor<1x9x1x45xf32>, tensor<1x9x5x140xf32>, tensor<1x9x5xf32>, tensor<1x9x5xf32>)
  return %0#4, %0#2 : tensor<1x9x5xf32>, tensor<1x9x5x140xf32>
}

// CHECK-LABEL: module @kernels
// CHECK: func.func private @all(
// CHECK-SAME: arguments = array<i64: 0, 0, 1, 2, 2, 1, 3, 4, 5, 6, 7, 8>
// CHECK-SAME: function = "linear_attention_grad", header = "linear_attention_grad.cuh"
// CHECK-SAME: Gradient = f32
// CHECK: func.func private @some(
// CHECK-SAME: arguments = array<i64: 0, 1, 2, 3, 3, 4, -1, -1, 6, -1, 5, 7>
// CHECK-SAME: Gradient = bf16
