// RUN: sinter-opt %s --sinter-lower-kernels --cse | FileCheck %s

#cpu = #sinter.target<kind = "cpu", chip = "x86-64-v4", features = "+avx512f,+avx512bf16", vector_bits = 512, registers = 32, cores = 2, gflops_f32 = 192, gflops_bf16 = 384, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576, l3_bytes = 16777216>

module attributes {sinter.target = #cpu} {

// A row is a work item.
// CHECK-LABEL: func.func private @sample
// CHECK-SAME: sinter.grid = 3 : i64
func.func private @sample(%l: tensor<3x1000xf32>, %t: tensor<3xf32>, %k: tensor<3xi32>,
                          %p: tensor<3xf32>, %m: tensor<3xf32>, %s: tensor<3x2xi32>,
                          %b: tensor<3xi32>, %c: tensor<3xi32>) -> tensor<3xi32> attributes {sinter.kernel = "sampling"} {
  %0 = sinter.sample %l, %t, %k, %p, %m, %s, %b, %c
    : (tensor<3x1000xf32>, tensor<3xf32>, tensor<3xi32>, tensor<3xf32>, tensor<3xf32>,
       tensor<3x2xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}

// CHECK: module @kernels
// A vector's weights and a list of the row's 63 vectors; nothing of the size of a row.
// CHECK: func.func @sample(%[[L:.*]]: memref<3000xf32> {{.*}}, %[[ID:.*]]: memref<3xi32>
// CHECK: memref.alloca() {{.*}} : memref<16xf32>
// CHECK: memref.alloca() {{.*}} : memref<63xi32>
// CHECK-NOT: memref.alloca
// The largest logit, four vectors at a time: 15 times four, two alone and a part of one.
// CHECK: scf.for {{.*}} to %c960
// CHECK: vector.load %[[L]]
// CHECK: vector.maskedload %[[L]]
// CHECK: scf.if
// What top-k keeps, by numbers; what it weighs; what top-p keeps; what min-p leaves of that; the
// words that decide.
// CHECK: scf.while
// CHECK-NOT: math.floor
// CHECK: scf.yield %{{.*}} : i32, i32, f64, i1, index
// CHECK: scf.for
// CHECK: math.floor
// CHECK: scf.while
// CHECK: math.floor
// CHECK: scf.if {{.*}} -> (f64)
// CHECK: scf.for
// CHECK: math.floor
// CHECK: arith.mului_extended
// CHECK: memref.store %{{.*}}, %[[ID]]
// A greedy choice weighs nothing.
// CHECK: } else {
// CHECK-NOT: math.floor
// CHECK: memref.store %{{.*}}, %[[ID]]
}
