// RUN: sinter-opt %s --sinter-verify-schedule | FileCheck %s

// CHECK-LABEL: plan.program @preprocess
plan.program @preprocess {
  %w = plan.slice checkpoint[0, 32] "w" : tensor<8xf32>
  %p = plan.slice parameter[64, 32] "p1" : tensor<8xf32>
  plan.copy(%w) -> (%p)
}

// CHECK-LABEL: plan.program @decode
plan.program @decode {
  %p = plan.slice parameter[64, 32] "p1" : tensor<8xf32>
  %y = plan.slice output[0, 32] "y" : tensor<8xf32>
  %h = plan.alloc 32
  plan.copy(%p) -> (%h)
  plan.copy(%h) -> (%y)
}

// Inputs and outputs of another program have places of their own.
// CHECK-LABEL: plan.program @prefill
plan.program @prefill {
  %x = plan.slice output[0, 64] "x" : tensor<16xf32>
  %y = plan.slice output[64, 32] "y" : tensor<8xf32>
  plan.fill 0 -> (%x)
  plan.fill 0 -> (%y)
}
