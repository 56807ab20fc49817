// RUN: sinter-opt %s --sinter-lower-to-plan --sinter-verify-schedule | FileCheck %s

func.func private @whole(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
    attributes {sinter.kernel = "rows", sinter.grid = 4 : i64, sinter.alternatives = [@split, @wide]} {
  %0 = sinter.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func private @split(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
    attributes {sinter.kernel = "rows", sinter.grid = 8 : i64, sinter.scratch = 64 : i64} {
  %0 = sinter.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func private @wide(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
    attributes {sinter.kernel = "rows", sinter.grid = 2 : i64} {
  %0 = sinter.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: plan.program @forward
// CHECK: %[[SCRATCH:.*]] = plan.slice state[0, 64] "scratch.split" : tensor<16xi32>
// CHECK: plan.alternatives {
// CHECK-NEXT: plan.launch @whole grid 4(%[[X:.*]]) -> (%[[Y:.*]]) {
// CHECK-NEXT: } or {
// CHECK-NEXT: plan.launch @split grid 8(%[[X]]) -> (%[[Y]], %[[SCRATCH]]) {
// CHECK-NEXT: } or {
// CHECK-NEXT: plan.launch @wide grid 2(%[[X]]) -> (%[[Y]]) {
// CHECK-NEXT: {{^ *}}}
func.func @forward(%x: tensor<4x8xf32> {sinter.input = "x"}) -> (tensor<4x8xf32> {sinter.output = "y"})
    attributes {sinter.entry} {
  %0 = sinter.call_kernel @whole(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
