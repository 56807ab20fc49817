// RUN: sinter-opt %s --sinter-apply-optimizer="accumulate=8" | FileCheck %s
// RUN: sinter-opt %s --sinter-apply-optimizer="accumulate=2" | FileCheck %s --check-prefix=TWO

// Eight microbatches over two ranks: four a rank, in two buffers.
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  // CHECK-LABEL: func.func @accumulate(
  // CHECK-SAME: %[[SUM:[^:]*]]: tensor<4xf32> {sinter.donated = 0 : i64, sinter.role = #sinter.role<gradient>, sinter.state = "gradient0.w"})
  // CHECK-SAME: -> (tensor<4xf32> {sinter.state = "gradient0.w"})
  // CHECK: sinter.add %[[SUM]]

  // CHECK-LABEL: func.func @carry.1(
  // CHECK-SAME: %[[FROM:[^:]*]]: tensor<4xf32> {sinter.donated = 1 : i64, sinter.role = #sinter.role<gradient>, sinter.state = "gradient0.w"}
  // CHECK-SAME: %[[TO:[^:]*]]: tensor<4xf32> {sinter.donated = 0 : i64, sinter.role = #sinter.role<gradient>, sinter.state = "gradient.w"})
  // CHECK: %[[SUM:.*]], %[[CLEARED:.*]] = sinter.carry %[[TO]], %[[FROM]]
  // CHECK: return %[[SUM]], %[[CLEARED]]

  // CHECK-NOT: @carry.2
  // CHECK-LABEL: func.func @update(
  // CHECK-SAME: sinter.state = "gradient.w"

  // TWO-NOT: @carry.
  // TWO-NOT: gradient0
  func.func @train_step(%w: tensor<4xf32> {sinter.parameter = "w"})
      -> (tensor<4xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
    return %w : tensor<4xf32>
  }
}
