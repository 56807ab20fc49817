// RUN: sinter-opt %s --sinter-advance-collectives --split-input-file | FileCheck %s

// What would need more memory than the program does, what is hidden already, what sends nothing,
// and what runs before all steps.

// CHECK-LABEL: plan.program @memory
plan.program @memory {
  %x = plan.slice input[0, 64] "x" : tensor<16xf32>
  %w = plan.slice state[0, 64] "w" : tensor<16xf32>
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  %a = plan.alloc 128
  %h = plan.alloc 64
  %all = plan.alloc 128
  // CHECK: @embed
  // CHECK-NEXT: @layer0
  // CHECK-NEXT: all_gather
  plan.launch @embed grid 1 (%x) -> (%a) {predicted_ns = 5000}
  plan.launch @layer0 grid 1 (%a) -> (%h) {predicted_ns = 5000}
  plan.collective all_gather ["data"](%w) -> (%all) {predicted_ns = 4000}
  plan.launch @layer1 grid 1 (%h, %all) -> (%y) {predicted_ns = 5000}
}

// -----

// CHECK-LABEL: plan.program @hidden
plan.program @hidden {
  %x = plan.slice input[0, 64] "x" : tensor<16xf32>
  %w = plan.slice state[0, 64] "w" : tensor<16xf32>
  %y = plan.slice output[0, 192] "y" : tensor<48xf32>
  %all = plan.alloc 128
  %part = plan.alloc 64
  // CHECK: @first
  // CHECK-NEXT: all_gather
  // CHECK-NEXT: @second
  // CHECK-NEXT: all_slice
  plan.launch @first grid 1 (%x) -> (%y) {predicted_ns = 5000}
  plan.collective all_gather ["data"](%w) -> (%all) {predicted_ns = 4000}
  plan.launch @second grid 1 (%x) -> (%y) {predicted_ns = 5000}
  plan.collective all_slice ["data"](%all) -> (%part) {predicted_ns = 4000}
  plan.launch @last grid 1 (%all, %part) -> (%y) {predicted_ns = 5000}
}

// -----

// CHECK-LABEL: plan.program @preprocess
plan.program @preprocess {
  %w = plan.slice parameter[0, 64] "w"
  %v = plan.slice parameter[64, 128] "v"
  %a = plan.slice parameter[192, 64] "a"
  // CHECK: @first
  // CHECK-NEXT: all_gather
  plan.launch @first grid 1 (%w) -> (%a) {predicted_ns = 5000}
  plan.collective all_gather ["data"](%w) -> (%v) {predicted_ns = 4000}
  plan.launch @last grid 1 (%v) -> (%a) {predicted_ns = 5000}
}
