// RUN: sinter-opt %s --sinter-reuse-in-place | FileCheck %s

// A chain of elementwise kernels keeps to one buffer; the last one writes the output.
// CHECK-LABEL: plan.program @chain
plan.program @chain {
  %x = plan.slice input[0, 64] "x" : tensor<16xf32>
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // CHECK: %[[A:.*]] = plan.alloc 64
  // CHECK-NOT: plan.alloc
  %a = plan.alloc 64
  %b = plan.alloc 64
  %c = plan.alloc 64
  // CHECK: plan.launch @k grid 1(%{{.*}}) -> (%[[A]])
  plan.launch @k grid 1 (%x) -> (%a) {reusable = array<i64: 0>}
  // CHECK: plan.launch @k grid 1(%[[A]]) -> (%[[A]])
  plan.launch @k grid 1 (%a) -> (%b) {reusable = array<i64: 0>}
  // CHECK: plan.launch @k2 grid 1(%{{.*}}, %[[A]]) -> (%[[A]])
  plan.launch @k2 grid 1 (%x, %b) -> (%c) {reusable = array<i64: 0, 1>}
  // CHECK: plan.launch @k grid 1(%[[A]]) -> (%{{.*}})
  plan.launch @k grid 1 (%c) -> (%y) {reusable = array<i64: 0>}
}
