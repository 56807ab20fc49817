// RUN: sinter-opt %s --canonicalize | FileCheck %s

// The gradient of a tied embedding goes into that of the head.
// CHECK-LABEL: func.func @tied
// CHECK-SAME: (%[[IDS:.*]]: tensor<3xi32>, %[[G:.*]]: tensor<3x4xf32>, %[[D:.*]]: tensor<3x8xf32>)
// CHECK-NEXT: %[[HEAD:.*]] = sinter.matmul %[[D]], %[[G]] {transpose_lhs}
// CHECK-NEXT: %[[SUM:.*]] = sinter.embedding_grad %[[IDS]], %[[G]], %[[HEAD]] {rows = 8 : i64}
// CHECK-NEXT: return %[[SUM]]
func.func @tied(%ids: tensor<3xi32>, %g: tensor<3x4xf32>, %d: tensor<3x8xf32>) -> tensor<8x4xf32> {
  %head = sinter.matmul %d, %g {transpose_lhs} : (tensor<3x8xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %0 = sinter.embedding_grad %ids, %g {rows = 8 : i64}
     : (tensor<3xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %1 = sinter.add %head, %0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// What else uses the gradient needs it alone.
// CHECK-LABEL: func.func @used_twice
// CHECK: sinter.embedding_grad %{{.*}}, %{{.*}} {rows = 8 : i64} : (tensor<3xi32>, tensor<3x4xf32>)
// CHECK: sinter.add
func.func @used_twice(%ids: tensor<3xi32>, %g: tensor<3x4xf32>, %head: tensor<8x4xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = sinter.embedding_grad %ids, %g {rows = 8 : i64}
     : (tensor<3xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %1 = sinter.add %head, %0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// What was added up before is an argument, to which a whole sum is added.
// CHECK-LABEL: func.func @accumulated
// CHECK: sinter.embedding_grad %{{.*}}, %{{.*}} {rows = 8 : i64} : (tensor<3xi32>, tensor<3x4xf32>)
// CHECK: sinter.add
func.func @accumulated(%ids: tensor<3xi32>, %g: tensor<3x4xf32>, %before: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = sinter.embedding_grad %ids, %g {rows = 8 : i64}
     : (tensor<3xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %1 = sinter.add %before, %0 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
