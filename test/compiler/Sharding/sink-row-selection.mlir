// RUN: sinter-opt %s --sinter-sink-row-selection | FileCheck %s
// RUN: sinter-opt %s --sinter-sink-row-selection %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: [Passed] RowsSelected | {{.*}}Function=last_layer | Remark="6 ops run on the last row of each slot only"

// The whole MLP and the norm after it; the residual's selection is made once.
// CHECK-LABEL: func.func @last_layer
// CHECK: %[[X:.*]] = sinter.last_row %arg0, %arg1 : (tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
// CHECK-NOT: sinter.last_row
// CHECK: sinter.rms_norm %[[X]], %arg2 {{.*}} -> tensor<2x8xf32>
// CHECK: sinter.matmul {{.*}} -> tensor<2x8xf32>
// CHECK: sinter.broadcast %arg4 {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<2x8xf32>
// CHECK: sinter.add {{.*}} -> tensor<2x8xf32>
// CHECK: sinter.add %[[X]], {{.*}} -> tensor<2x8xf32>
// CHECK: %[[Y:.*]] = sinter.rms_norm {{.*}} -> tensor<2x8xf32>
// CHECK: return %[[Y]]
func.func @last_layer(%x: tensor<2x4x8xf32>, %count: tensor<2xi32>, %n: tensor<8xf32>,
                      %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<2x8xf32>
    attributes {sinter.entry} {
  %0 = sinter.rms_norm %x, %n {eps = 1.0e-5} : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %1 = sinter.matmul %0, %w : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %2 = sinter.broadcast %b {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x4x8xf32>
  %3 = sinter.add %1, %2 : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %4 = sinter.add %x, %3 : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %5 = sinter.rms_norm %4, %n {eps = 1.0e-5} : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %6 = sinter.last_row %5, %count : (tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return %6 : tensor<2x8xf32>
}

// Columns of rows, and a constant.
// CHECK-LABEL: func.func @columns
// CHECK: %[[X:.*]] = sinter.last_row %arg0
// CHECK: %[[S:.*]] = sinter.slice %[[X]] {offsets = array<i64: 0, 4>} : (tensor<2x8xf32>) -> tensor<2x4xf32>
// CHECK: %[[C:.*]] = sinter.constant dense<2.000000e+00> : tensor<2x4xf32>
// CHECK: sinter.mul %[[S]], %[[C]]
func.func @columns(%x: tensor<2x4x8xf32>, %count: tensor<2xi32>) -> tensor<2x4xf32>
    attributes {sinter.entry} {
  %c = sinter.constant dense<2.0> : tensor<2x4x4xf32>
  %0 = sinter.slice %x {offsets = array<i64: 0, 0, 4>} : (tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %1 = sinter.mul %0, %c : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %2 = sinter.last_row %1, %count : (tensor<2x4x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// Rows side by side, as the loops of the op say.
// CHECK-LABEL: func.func @side_by_side
// CHECK: %[[X:.*]] = sinter.last_row %arg0
// CHECK: %[[Y:.*]] = sinter.last_row %arg1
// CHECK: sinter.concat %[[X]], %[[Y]] {dim = 1 : i64} : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<2x12xf32>
func.func @side_by_side(%x: tensor<2x4x8xf32>, %y: tensor<2x4x4xf32>, %count: tensor<2xi32>)
    -> tensor<2x12xf32> attributes {sinter.entry} {
  %0 = sinter.concat %x, %y {dim = 2 : i64} : (tensor<2x4x8xf32>, tensor<2x4x4xf32>) -> tensor<2x4x12xf32>
  %1 = sinter.last_row %0, %count : (tensor<2x4x12xf32>, tensor<2xi32>) -> tensor<2x12xf32>
  return %1 : tensor<2x12xf32>
}

// Of one row the last is that one.
// CHECK-LABEL: func.func @one_row
// CHECK: %[[N:.*]] = sinter.rms_norm %arg0
// CHECK: sinter.reshape %[[N]] : (tensor<2x1x8xf32>) -> tensor<2x8xf32>
func.func @one_row(%x: tensor<2x1x8xf32>, %count: tensor<2xi32>, %n: tensor<8xf32>) -> tensor<2x8xf32>
    attributes {sinter.entry} {
  %0 = sinter.rms_norm %x, %n {eps = 1.0e-5} : (tensor<2x1x8xf32>, tensor<8xf32>) -> tensor<2x1x8xf32>
  %1 = sinter.last_row %0, %count : (tensor<2x1x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// Rows that are quantized: both results of the op, and both operands of the product.
// CHECK-LABEL: func.func @quantized
// CHECK: %[[X:.*]] = sinter.last_row %arg0, %arg1 : (tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
// CHECK: %[[Q:.*]], %[[R:.*]] = sinter.quantize %[[X]] : (tensor<2x8xf32>) -> (tensor<2x8xi8>, tensor<2x1xf32>)
// CHECK: sinter.matmul %[[Q]], %arg2, %arg3 rows %[[R]] {transpose_rhs} : {{.*}} -> tensor<2x4xf32>
func.func @quantized(%x: tensor<2x4x8xf32>, %count: tensor<2xi32>, %w: tensor<4x8xi8>, %s: tensor<4x1xf32>)
    -> tensor<2x4xf32> attributes {sinter.entry} {
  %q, %r = sinter.quantize %x : (tensor<2x4x8xf32>) -> (tensor<2x4x8xi8>, tensor<2x4x1xf32>)
  %0 = sinter.matmul %q, %w, %s rows %r {transpose_rhs} : (tensor<2x4x8xi8>, tensor<4x8xi8>, tensor<4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x4xf32>
  %1 = sinter.last_row %0, %count : (tensor<2x4x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
