// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @width(%w: tensor<16x8xf32>, %ids: tensor<4xi32>) -> tensor<4x9xf32> {
  // expected-error @below {{expected a table [rows, width] and ids' shape with width appended, got}}
  %0 = sinter.embedding %w, %ids : (tensor<16x8xf32>, tensor<4xi32>) -> tensor<4x9xf32>
  return %0 : tensor<4x9xf32>
}

// -----

func.func @transposed(%w: tensor<16x8xf32>, %ids: tensor<4xi32>) -> tensor<4x8xf32> {
  // expected-error @below {{expected a table [width, rows] and ids' shape with width appended, got}}
  %0 = sinter.embedding %w, %ids {transpose_table} : (tensor<16x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @positions(%start: tensor<2xi32>) -> tensor<3x4xi32> {
  // expected-error @below {{expected start [b] and a result [b, t], got}}
  %0 = sinter.positions %start : (tensor<2xi32>) -> tensor<3x4xi32>
  return %0 : tensor<3x4xi32>
}
