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

// A product is added to the residual where that is.
// CHECK-LABEL: plan.program @residual
plan.program @residual {
  %p = plan.slice parameter[0, 1024] "p0"
  // CHECK: %[[H:.*]] = plan.alloc 64
  // CHECK: %[[X:.*]] = plan.alloc 64
  // CHECK-NOT: plan.alloc
  %h = plan.alloc 64
  %x = plan.alloc 64
  %y = plan.alloc 64
  plan.fill 0 -> (%h)
  plan.fill 0 -> (%x)
  // CHECK: plan.gemm(%[[X]], %{{.*}}, %[[H]]) -> (%[[H]])
  plan.gemm(%x, %p, %h) -> (%y) {m = 1, n = 16, k = 16, dtype = f32, out_dtype = f32,
    lhs_stride = 16, rhs_stride = 16, out_stride = 16, post_ops = [#plan.post_op<add, f32, 16>]}
  // CHECK: plan.copy(%[[H]])
  %z = plan.slice output[0, 64] "z" : tensor<16xf32>
  plan.copy(%y) -> (%z)
}

// Of two results, the one of the operand's size.
// CHECK-LABEL: plan.program @two_results
plan.program @two_results {
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // CHECK: %[[X:.*]] = plan.alloc 64
  // CHECK: %[[R:.*]] = plan.alloc 4
  // CHECK-NOT: plan.alloc
  %x = plan.alloc 64
  %r = plan.alloc 4
  %d = plan.alloc 64
  plan.fill 0 -> (%x)
  // CHECK: plan.launch @k grid 1(%[[X]]) -> (%[[X]], %[[R]])
  plan.launch @k grid 1 (%x) -> (%d, %r) {reusable = array<i64: 0>}
  plan.launch @k2 grid 1 (%d, %r) -> (%y)
}

// A choice that reads it later does not keep a kernel from writing over what it read.
// CHECK-LABEL: plan.program @before_a_choice
plan.program @before_a_choice {
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // CHECK: %[[A:.*]] = plan.alloc 64
  // CHECK-NOT: plan.alloc
  %a = plan.alloc 64
  %b = plan.alloc 64
  plan.fill 0 -> (%a)
  // CHECK: plan.launch @k grid 1(%[[A]]) -> (%[[A]])
  plan.launch @k grid 1 (%a) -> (%b) {reusable = array<i64: 0>}
  plan.alternatives {
    plan.launch @k2 grid 1 (%b) -> (%y)
  } or {
    plan.launch @k3 grid 1 (%b) -> (%y)
  }
}
