// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-global-pipeline | sinter-opt --sinter-verify-global | FileCheck %s

// Products are merged while weights are dense.
// CHECK-LABEL: func.func @entry
// CHECK: sinter.concat %{{.*}}, %{{.*}} {dim = 0 : i64} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
// CHECK: sinter.matmul {{.*}} {transpose_rhs}
// CHECK-NOT: sinter.matmul
func.func @entry(%x: tensor<4x8xf32>, %v: tensor<16x8xf32> {sinter.parameter = "v"},
                 %w: tensor<16x8xf32> {sinter.parameter = "w"})
    -> (tensor<64xf32>, tensor<64xf32>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %v {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %1 = sinter.matmul %x, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %2 = sinter.reshape %0 : (tensor<4x16xf32>) -> tensor<64xf32>
  %3 = sinter.reshape %1 : (tensor<4x16xf32>) -> tensor<64xf32>
  return %2, %3 : tensor<64xf32>, tensor<64xf32>
}
