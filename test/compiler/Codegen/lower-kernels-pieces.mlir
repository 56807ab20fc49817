// RUN: sinter-opt %s --sinter-lower-kernels | FileCheck %s

module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3",
    features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192,
    gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576,
    l3_bytes = 16777216>} {

// A row that rotations cut is put together before it is reduced, so that the order of the sum is that
// of a row in memory: here two loops write it, and one adds it up.
// CHECK: module @kernels
// CHECK: %[[ROW:.*]] = memref.alloca() {alignment = 64 : i64} : memref<20xf32>
// CHECK: memref.store %{{.*}}, %[[ROW]]
// CHECK: memref.store %{{.*}}, %[[ROW]]
// CHECK: scf.for {{.*}} iter_args
// CHECK-NEXT: memref.load %[[ROW]]
func.func private @pieced(%x: tensor<1x4x2x20xf32>, %cos: tensor<4x10xf32>, %sin: tensor<4x10xf32>)
    -> tensor<1x4x2xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.rotary %x, %cos, %sin : (tensor<1x4x2x20xf32>, tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<1x4x2x20xf32>
  %1 = sinter.reduce sum %0 : (tensor<1x4x2x20xf32>) -> tensor<1x4x2xf32>
  return %1 : tensor<1x4x2xf32>
}

// Heads that are reduced together have a boundary each, where a loop branches.
// CHECK: %[[HEADS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<40xf32>
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[HEADS]]
// CHECK: scf.for {{.*}} iter_args
// CHECK-NEXT: memref.load %[[HEADS]]
func.func private @heads(%x: tensor<1x4x2x20xf32>, %cos: tensor<4x10xf32>, %sin: tensor<4x10xf32>)
    -> tensor<1x4xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.rotary %x, %cos, %sin : (tensor<1x4x2x20xf32>, tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<1x4x2x20xf32>
  %1 = sinter.reshape %0 : (tensor<1x4x2x20xf32>) -> tensor<1x4x40xf32>
  %2 = sinter.reduce sum %1 : (tensor<1x4x40xf32>) -> tensor<1x4xf32>
  return %2 : tensor<1x4xf32>
}

// A row of a table that is moved into place itself is read where its number is known: inside the loop.
// CHECK: func.func @gathered(%[[X:.*]]: memref<960xf32> {{.*}}, %[[TABLE:.*]]: memref<16xf32> {{.*}}, %[[ROWS:.*]]: memref<15xi32>
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c15
// CHECK-NEXT: %[[ROW:.*]] = memref.load %[[ROWS]][%[[I]]]
// CHECK: %[[VALUE:.*]] = memref.load %[[TABLE]]
// CHECK-NEXT: memref.store %[[VALUE]]
// CHECK: return
func.func private @gathered(%x: tensor<15x64xf32>, %table: tensor<4x4xf32>, %rows: tensor<15xi32>)
    -> (tensor<15x1xf32>, tensor<4x15x16xf32>) attributes {sinter.kernel = "rows"} {
  %0 = sinter.reshape %table : (tensor<4x4xf32>) -> tensor<16x1xf32>
  %1 = sinter.slice %0 {offsets = array<i64: 0, 0>} : (tensor<16x1xf32>) -> tensor<15x1xf32>
  %2 = sinter.embedding %1, %rows : (tensor<15x1xf32>, tensor<15xi32>) -> tensor<15x1xf32>
  %3 = sinter.reshape %x : (tensor<15x64xf32>) -> tensor<15x4x16xf32>
  %4 = sinter.transpose %3 {permutation = array<i64: 1, 0, 2>} : (tensor<15x4x16xf32>) -> tensor<4x15x16xf32>
  return %2, %4 : tensor<15x1xf32>, tensor<4x15x16xf32>
}
}
