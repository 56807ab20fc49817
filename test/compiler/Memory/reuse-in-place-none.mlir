// RUN: sinter-opt %s --sinter-reuse-in-place | FileCheck %s

// CHECK-LABEL: plan.program @needed_later
plan.program @needed_later {
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // CHECK: plan.alloc
  // CHECK: plan.alloc
  %a = plan.alloc 64
  %b = plan.alloc 64
  plan.fill 0 -> (%a)
  plan.launch @k grid 1 (%a) -> (%b) {reusable = array<i64: 0>}
  plan.launch @k2 grid 1 (%a, %b) -> (%y)
}

// CHECK-LABEL: plan.program @not_reusable
plan.program @not_reusable {
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // CHECK: plan.alloc
  // CHECK: plan.alloc
  %a = plan.alloc 64
  %b = plan.alloc 64
  plan.fill 0 -> (%a)
  plan.launch @reverse grid 1 (%a) -> (%b)
  plan.copy(%b) -> (%y)
}

// The kernel reads the same bytes in another way too.
// CHECK-LABEL: plan.program @read_twice
plan.program @read_twice {
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // CHECK: plan.alloc
  // CHECK: plan.alloc
  %a = plan.alloc 64
  %b = plan.alloc 64
  plan.fill 0 -> (%a)
  plan.launch @k grid 1 (%a, %a) -> (%b) {reusable = array<i64: 0>}
  plan.copy(%b) -> (%y)
}

// CHECK-LABEL: plan.program @other_size
plan.program @other_size {
  %y = plan.slice output[0, 32] "y" : tensor<8xf32>
  // CHECK: plan.alloc 64
  // CHECK: plan.alloc 32
  %a = plan.alloc 64
  %b = plan.alloc 32
  plan.fill 0 -> (%a)
  plan.launch @k grid 1 (%a) -> (%b) {reusable = array<i64: 0>}
  plan.copy(%b) -> (%y)
}

// A product is not written over what it is made of, nor over a factor.
// CHECK-LABEL: plan.program @product
plan.program @product {
  %p = plan.slice parameter[0, 1024] "p0"
  // CHECK-COUNT-4: plan.alloc 64
  %h = plan.alloc 64
  %y = plan.alloc 64
  %g = plan.alloc 64
  %z = plan.alloc 64
  plan.fill 0 -> (%h)
  plan.gemm(%h, %p, %h) -> (%y) {m = 1, n = 16, k = 16, dtype = f32, out_dtype = f32,
    lhs_stride = 16, rhs_stride = 16, out_stride = 16, post_ops = [#plan.post_op<add, f32, 16>]}
  plan.fill 0 -> (%g)
  plan.gemm(%y, %p, %g) -> (%z) {m = 1, n = 16, k = 16, dtype = f32, out_dtype = f32,
    lhs_stride = 16, rhs_stride = 16, out_stride = 16, post_ops = [#plan.post_op<multiply, f32, 16>]}
}

// Not every option may write over what it reads.
// CHECK-LABEL: plan.program @choice
plan.program @choice {
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // CHECK: plan.alloc
  // CHECK: plan.alloc
  %a = plan.alloc 64
  %b = plan.alloc 64
  plan.fill 0 -> (%a)
  plan.alternatives {
    plan.launch @k grid 1 (%a) -> (%b) {reusable = array<i64: 0>}
  } or {
    plan.launch @k2 grid 1 (%a) -> (%b)
  }
  plan.copy(%b) -> (%y)
}

// What an option of a choice reads later is still needed.
// CHECK-LABEL: plan.program @needed_by_an_option
plan.program @needed_by_an_option {
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // CHECK: plan.alloc
  // CHECK: plan.alloc
  %a = plan.alloc 64
  %b = plan.alloc 64
  plan.fill 0 -> (%a)
  plan.launch @k grid 1 (%a) -> (%b) {reusable = array<i64: 0>}
  plan.alternatives {
    plan.launch @k2 grid 1 (%b) -> (%y)
  } or {
    plan.launch @k3 grid 1 (%b, %a) -> (%y)
  }
}
