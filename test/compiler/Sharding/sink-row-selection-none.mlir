// RUN: sinter-opt %s --sinter-sink-row-selection | FileCheck %s
// RUN: sinter-opt %s --sinter-sink-row-selection %remarks 2>&1 | FileCheck %s --check-prefix=REMARK --allow-empty

// REMARK-NOT: RowsSelected

// All rows are needed elsewhere: selecting first would compute some of them twice.
// CHECK-LABEL: func.func @used_elsewhere
// CHECK: sinter.relu {{.*}} -> tensor<2x4x8xf32>
// CHECK: sinter.last_row
func.func @used_elsewhere(%x: tensor<2x4x8xf32>, %count: tensor<2xi32>)
    -> (tensor<2x8xf32>, tensor<2x4x8xf32>) attributes {sinter.entry} {
  %0 = sinter.relu %x : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %1 = sinter.last_row %0, %count : (tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return %1, %0 : tensor<2x8xf32>, tensor<2x4x8xf32>
}

// Two selections by different counts.
// CHECK-LABEL: func.func @two_counts
// CHECK: sinter.relu {{.*}} -> tensor<2x4x8xf32>
func.func @two_counts(%x: tensor<2x4x8xf32>, %a: tensor<2xi32>, %b: tensor<2xi32>)
    -> (tensor<2x8xf32>, tensor<2x8xf32>) attributes {sinter.entry} {
  %0 = sinter.relu %x : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %1 = sinter.last_row %0, %a : (tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  %2 = sinter.last_row %0, %b : (tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return %1, %2 : tensor<2x8xf32>, tensor<2x8xf32>
}

// A transpose mixes rows.
// CHECK-LABEL: func.func @transposed
// CHECK: sinter.transpose
// CHECK: sinter.last_row
func.func @transposed(%x: tensor<2x8x4xf32>, %count: tensor<2xi32>) -> tensor<2x8xf32>
    attributes {sinter.entry} {
  %0 = sinter.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<2x8x4xf32>) -> tensor<2x4x8xf32>
  %1 = sinter.last_row %0, %count : (tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}
