// RUN: sinter-opt %s --sinter-apply-optimizer="optimizer=muon momentum=0.9" | FileCheck %s

// Ids choose rows of "rows", those of "positions" are the same for every sequence, a loss picks from
// what "columns" multiplies, "bias" is a vector: AdamW updates all four at a rate of its own. "inner"
// is multiplied before another matrix is.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: sinter.state = "adamw.m.rows"
// CHECK-SAME: %[[RATE:[^:]*]]: tensor<f32> {sinter.input = "adamw_learning_rate"}
// CHECK-SAME: sinter.state = "adamw.m.positions"
// CHECK-SAME: sinter.state = "muon.momentum.inner"
// CHECK-SAME: tensor<f32> {sinter.input = "learning_rate"}
// CHECK-SAME: sinter.state = "adamw.m.columns"
// CHECK-SAME: sinter.state = "adamw.m.bias"
// CHECK: sinter.cross_entropy
// CHECK-COUNT-2: sinter.adamw {{.*}}, %[[RATE]], %
// CHECK-COUNT-15: sinter.matmul
// CHECK-NOT: sinter.matmul
// CHECK-COUNT-2: sinter.adamw {{.*}}, %[[RATE]], %
// CHECK-NOT: sinter.adamw
func.func @train_step(%ids: tensor<4xi32> {sinter.input = "tokens"},
                      %rows: tensor<16x8xf32> {sinter.parameter = "rows"},
                      %positions: tensor<4x8xf32> {sinter.parameter = "positions"},
                      %inner: tensor<8x8xf32> {sinter.parameter = "inner"},
                      %columns: tensor<16x8xf32> {sinter.parameter = "columns"},
                      %bias: tensor<16xf32> {sinter.parameter = "bias"})
    -> (tensor<4xf32> {sinter.output = "losses"},
        tensor<16x8xf32> {sinter.gradient = "rows"},
        tensor<4x8xf32> {sinter.gradient = "positions"},
        tensor<8x8xf32> {sinter.gradient = "inner"},
        tensor<16x8xf32> {sinter.gradient = "columns"}, tensor<16xf32> {sinter.gradient = "bias"})
    attributes {sinter.entry} {
  %0 = sinter.embedding %rows, %ids : (tensor<16x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %1 = sinter.slice %positions {offsets = array<i64: 0, 0>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
  %2 = sinter.broadcast %1 {dims = array<i64: 1, 2>} : (tensor<2x8xf32>) -> tensor<2x2x8xf32>
  %3 = sinter.reshape %2 : (tensor<2x2x8xf32>) -> tensor<4x8xf32>
  %4 = sinter.add %0, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = sinter.matmul %4, %inner : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %6 = sinter.transpose %columns {permutation = array<i64: 1, 0>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %7 = sinter.matmul %5, %6 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %8 = sinter.broadcast %bias {dims = array<i64: 1>} : (tensor<16xf32>) -> tensor<4x16xf32>
  %9 = sinter.add %7, %8 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %10 = sinter.cross_entropy %9, %ids : (tensor<4x16xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %10, %rows, %positions, %inner, %columns, %bias : tensor<4xf32>, tensor<16x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<16x8xf32>, tensor<16xf32>
}
