// RUN: sinter-opt %s --sinter-expand-losses | FileCheck %s

// Seven rows in blocks of three, the last one shorter; logits of one block at a time.
// CHECK-LABEL: func.func @evaluate
// CHECK: sinter.matmul %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<3x8xf32>, tensor<16x8xf32>) -> tensor<3x16xf32>
// CHECK: %[[A:.*]] = sinter.cross_entropy
// CHECK: sinter.matmul {{.*}} -> tensor<3x16xf32>
// CHECK: %[[B:.*]] = sinter.cross_entropy
// CHECK: sinter.matmul {{.*}} -> tensor<1x16xf32>
// CHECK: %[[C:.*]] = sinter.cross_entropy
// CHECK: %[[ALL:.*]] = sinter.concat %[[A]], %[[B]], %[[C]] {dim = 0 : i64}
// CHECK: return %[[ALL]]
func.func @evaluate(%h: tensor<7x8xf32>, %w: tensor<16x8xf32>, %t: tensor<7xi32>) -> tensor<7xf32> {
  %0 = sinter.linear_cross_entropy %h, %w, %t {chunk = 3 : i64, transpose_weight}
     : (tensor<7x8xf32>, tensor<16x8xf32>, tensor<7xi32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}
