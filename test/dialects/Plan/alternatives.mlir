// RUN: sinter-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: plan.program @attention
plan.program @attention {
  %x = plan.slice input[0, 64] "x" : tensor<16xf32>
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  %s = plan.slice state[0, 64] "scratch.split" : tensor<16xi32>
  %own = plan.alloc 128
  // CHECK: plan.alternatives {
  // CHECK-NEXT: plan.launch @whole grid 4(%[[X:.*]]) -> (%[[Y:.*]]) {label = "attention"}
  // CHECK-NEXT: } or {
  // CHECK-NEXT: plan.launch @wide grid 2(%[[X]]) -> (%[[Y]])
  // CHECK-NEXT: } or {
  // CHECK-NEXT: plan.launch @split grid 8(%[[X]]) -> (%[[Y]], %{{.*}}, %{{.*}})
  // CHECK-NEXT: }
  plan.alternatives {
    plan.launch @whole grid 4 (%x) -> (%y) {label = "attention"}
  } or {
    plan.launch @wide grid 2 (%x) -> (%y)
  } or {
    plan.launch @split grid 8 (%x) -> (%y, %own, %s)
  }
}
