// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-apply-optimizer="accumulate=8" | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-apply-optimizer="accumulate=8 zero=1" | FileCheck %s --check-prefix=PARTS
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-apply-optimizer="accumulate=2" | FileCheck %s --check-prefix=ONE
// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-apply-optimizer="accumulate=8 zero=2" | FileCheck %s --check-prefix=NONE
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v3 --sinter-apply-optimizer="accumulate=8" | FileCheck %s --check-prefix=NONE

// A rank's last microbatch does what carries are left, too, and leaves the sum in the last buffer.
// CHECK-LABEL: func.func @accumulate(
// CHECK-NOT: sinter.carry
// CHECK-LABEL: func.func @accumulate_last(
// CHECK-SAME: %[[FROM:[^:]*]]: tensor<4xf32> {sinter.donated = 0 : i64, sinter.role = #sinter.role<gradient>, sinter.state = "gradient0.w"}
// CHECK-SAME: %[[TO:[^:]*]]: tensor<4xf32> {sinter.donated = 1 : i64, sinter.role = #sinter.role<gradient>, sinter.state = "gradient.w"})
// CHECK: %[[SUM:.*]] = sinter.add %[[FROM]]
// CHECK: %[[ALL:.*]], %[[CLEARED:.*]] = sinter.carry %[[TO]], %[[SUM]]
// CHECK: return %[[CLEARED]], %[[ALL]]
// CHECK-LABEL: func.func @carry.1(
// CHECK-LABEL: func.func @update(
// CHECK-SAME: sinter.state = "gradient.w"

// Of what a rank has a part of, there is a state beside its own gradients, which are zero again.
// PARTS-LABEL: func.func @accumulate_last(
// PARTS-SAME: sinter.state = "gradient_sum.w"})
// PARTS: %[[SUM:.*]], %[[CLEARED:.*]] = sinter.carry
// PARTS: %[[ZERO:.*]] = sinter.constant dense<0.000000e+00> : tensor<4xf32>
// PARTS: %[[ALL:.*]], %[[AGAIN:.*]] = sinter.carry %[[ZERO]], %[[SUM]]
// PARTS: return %[[CLEARED]], %[[AGAIN]], %[[ALL]]
// PARTS-LABEL: func.func @update(
// PARTS-NOT: "gradient.w"
// PARTS: sinter.state = "gradient_sum.w"

// Where it is the only one, no other entry is there.
// ONE-NOT: func.func @accumulate(
// ONE: func.func @accumulate_last(
// ONE-NOT: sinter.carry

// NONE: func.func @accumulate(
// NONE-NOT: @accumulate_last
module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @train_step(%w: tensor<4xf32> {sinter.parameter = "w"})
      -> (tensor<4xf32> {sinter.gradient = "w"}) attributes {sinter.entry} {
    return %w : tensor<4xf32>
  }
}
