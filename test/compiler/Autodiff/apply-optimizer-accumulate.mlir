// RUN: sinter-opt %s --sinter-apply-optimizer="accumulate=4 leaves=1" | FileCheck %s
// RUN: sinter-opt %s --sinter-apply-optimizer="accumulate=2 optimizer=muon momentum=0.9" | FileCheck %s --check-prefix=MUON
// RUN: sinter-opt %s --sinter-apply-optimizer | FileCheck %s --check-prefix=ONE

// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME: %[[SCALE:.*]]: tensor<f32> {sinter.input = "loss_scale"}, %[[W:.*]]: tensor<4x8xf32> {sinter.initializer = #sinter.normal<mean = 0.000000e+00, deviation = 5.000000e-01>, sinter.role = #sinter.role<parameter>, sinter.state = "w"}
// CHECK-SAME: %[[SUM:.*]]: tensor<4x8xf32> {sinter.donated = 1 : i64, sinter.role = #sinter.role<gradient>, sinter.state = "gradient.w"})
// CHECK-SAME: -> (tensor<f32> {sinter.output = "loss"}, tensor<4x8xf32> {sinter.state = "gradient.w"})
// CHECK: %[[G:.*]] = sinter.broadcast
// CHECK: %[[NEXT:.*]] = sinter.add %[[SUM]], %[[G]]
// CHECK: return %{{.*}}, %[[NEXT]]

// The norm and the scale are those of the gradients without the loss' scale.
// CHECK-LABEL: func.func @update(
// CHECK-SAME: %[[SUM:.*]]: tensor<4x8xf32> {sinter.donated = 4 : i64, sinter.role = #sinter.role<gradient>, sinter.state = "gradient.w"}
// CHECK-SAME: %[[W:.*]]: tensor<4x8xf32> {sinter.donated = 1 : i64, sinter.initializer = #sinter.normal<mean = 0.000000e+00, deviation = 5.000000e-01>, sinter.role = #sinter.role<parameter>, sinter.state = "w"}
// CHECK-SAME: %[[SCALE:.*]]: tensor<f32> {sinter.input = "loss_scale"}
// CHECK: %[[ROOT:.*]] = sinter.sqrt
// CHECK: %[[NORM:.*]] = sinter.div %[[ROOT]], %[[SCALE]]
// CHECK: %[[CLIP:.*]] = sinter.minimum
// CHECK: %[[FACTOR:.*]] = sinter.div %[[CLIP]], %[[SCALE]]
// CHECK: sinter.where_finite %[[NORM]], %[[FACTOR]], %[[NORM]]
// CHECK: %[[P:.*]], %[[M:.*]], %[[V:.*]], %[[CLEARED:.*]] = sinter.adamw %[[W]], %[[SUM]]
// CHECK: return %[[NORM]], %[[P]], %[[M]], %[[V]], %[[CLEARED]]

// MUON-LABEL: func.func @update(
// MUON: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00> : tensor<4x8xf32>
// MUON: return %{{.*}}, %{{.*}}, %{{.*}}, %[[ZERO]]

// ONE-LABEL: func.func @train_step(
// ONE-SAME: %[[SCALE:.*]]: tensor<f32> {sinter.input = "loss_scale"}
// ONE: sinter.div %{{.*}}, %[[SCALE]]
// ONE-NOT: @update
func.func @train_step(%s: tensor<f32> {sinter.input = "loss_scale"},
                      %w: tensor<4x8xf32> {sinter.parameter = "w",
                          sinter.initializer = #sinter.normal<mean = 0.0, deviation = 0.5>})
    -> (tensor<f32> {sinter.output = "loss"}, tensor<4x8xf32> {sinter.gradient = "w"})
    attributes {sinter.entry} {
  %0 = sinter.square_sum %w : (tensor<4x8xf32>) -> tensor<4xf32>
  %1 = sinter.reduce sum %0 : (tensor<4xf32>) -> tensor<f32>
  %2 = sinter.broadcast %s {dims = array<i64>} : (tensor<f32>) -> tensor<4x8xf32>
  return %1, %2 : tensor<f32>, tensor<4x8xf32>
}
