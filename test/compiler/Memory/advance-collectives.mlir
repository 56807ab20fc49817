// RUN: sinter-opt %s --sinter-advance-collectives --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-advance-collectives --split-input-file %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A layer's parameters arrive while the layer before computes, no earlier than that takes.

// REMARK: Collectives{{.*}}Function=ahead{{.*}}of 4000 ns of collectives other commands may hide 4000
// CHECK-LABEL: plan.program @ahead
plan.program @ahead {
  %x = plan.slice input[0, 64] "x" : tensor<16xf32>
  %w = plan.slice state[0, 64] "w" : tensor<16xf32>
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  %a = plan.alloc 64
  %large = plan.alloc 640
  %h = plan.alloc 64
  // CHECK: plan.launch @embed
  // CHECK: plan.collective all_gather
  // CHECK: plan.launch @layer0
  // CHECK: plan.launch @layer1
  plan.launch @embed grid 1 (%x) -> (%a, %large) {predicted_ns = 5000}
  plan.launch @layer0 grid 1 (%a) -> (%h) {predicted_ns = 5000}
  %all = plan.alloc 128
  plan.collective all_gather ["data"](%w) -> (%all) {predicted_ns = 4000}
  plan.launch @layer1 grid 1 (%h, %all) -> (%y) {predicted_ns = 5000}
}

// -----

// What adds up gradients that left follows when the next ones have been computed.

// REMARK: Collectives{{.*}}Function=behind{{.*}}of 6000 ns of collectives other commands may hide 4000
// CHECK-LABEL: plan.program @behind
plan.program @behind {
  %x = plan.slice input[0, 64] "x" : tensor<16xf32>
  %sum = plan.slice state[0, 64] "sum" : tensor<16xf32>
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  %g = plan.alloc 64
  %large = plan.alloc 640
  %parts = plan.alloc 64
  %next = plan.alloc 128
  // CHECK: plan.launch @gradient
  // CHECK: plan.collective all_to_all
  // CHECK: plan.launch @other
  // CHECK: plan.launch @last
  // CHECK: plan.launch @add
  plan.launch @gradient grid 1 (%x) -> (%g, %large) {predicted_ns = 5000}
  plan.collective all_to_all ["data"](%g) -> (%parts) {predicted_ns = 6000}
  plan.launch @add grid 1 (%parts, %sum) -> (%sum) {predicted_ns = 100}
  plan.launch @other grid 1 (%x) -> (%next) {predicted_ns = 3000}
  plan.launch @last grid 1 (%next) -> (%y) {predicted_ns = 1000}
}

// -----

// Collectives keep their order, and what writes their source comes first.

// CHECK-LABEL: plan.program @order
plan.program @order {
  %x = plan.slice input[0, 64] "x" : tensor<16xf32>
  %y = plan.slice output[0, 384] "y" : tensor<96xf32>
  %a = plan.alloc 64
  %b = plan.alloc 64
  %c = plan.alloc 128
  %d = plan.alloc 128
  // CHECK: plan.launch @a
  // CHECK: plan.launch @b
  // CHECK: plan.collective all_gather ["data"](%[[B:.*]]) ->
  // CHECK: plan.collective all_gather ["data"](%[[A:.*]]) ->
  // CHECK: plan.launch @c
  // CHECK: plan.launch @both
  plan.launch @a grid 1 (%x) -> (%a) {predicted_ns = 5000}
  plan.launch @b grid 1 (%x) -> (%b) {predicted_ns = 5000}
  plan.launch @c grid 1 (%x) -> (%y) {predicted_ns = 5000}
  plan.collective all_gather ["data"](%b) -> (%c) {predicted_ns = 4000}
  plan.collective all_gather ["data"](%a) -> (%d) {predicted_ns = 4000}
  plan.launch @both grid 1 (%c, %d) -> (%y) {predicted_ns = 100}
}

// -----

// On a GPU those of other axes, which may have streams of their own, are passed: what they take is not
// counted, for the links may be the same.

// REMARK: Collectives{{.*}}Function=axes{{.*}}of 8000 ns of collectives other commands may hide 4000
module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "",
    vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 67000, gflops_bf16 = 989000,
    memory_gbs = 4320, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 262144,
    l3_bytes = 52428800>} {
  // CHECK-LABEL: plan.program @axes
  plan.program @axes {
    %x = plan.slice input[0, 64] "x" : tensor<16xf32>
    %w = plan.slice state[0, 64] "w" : tensor<16xf32>
    %y = plan.slice output[0, 64] "y" : tensor<16xf32>
    %e = plan.alloc 64
    %large = plan.alloc 640
    %a = plan.alloc 64
    %parts = plan.alloc 64
    %all = plan.alloc 128
    // CHECK: plan.launch @embed
    // CHECK: plan.collective all_gather ["data"]
    // CHECK: plan.launch @layer0
    // CHECK: plan.collective all_to_all ["tensor"]
    // CHECK: plan.launch @layer1
    plan.launch @embed grid 1 (%x) -> (%e, %large) {predicted_ns = 5000}
    plan.launch @layer0 grid 1 (%e) -> (%a) {predicted_ns = 5000}
    plan.collective all_to_all ["tensor"](%a) -> (%parts) {predicted_ns = 4000}
    plan.collective all_gather ["data"](%w) -> (%all) {predicted_ns = 4000}
    plan.launch @layer1 grid 1 (%parts, %all) -> (%y) {predicted_ns = 5000}
  }
}
