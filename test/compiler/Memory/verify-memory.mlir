// RUN: sinter-opt %s --sinter-verify-memory | FileCheck %s

// Slices that live one after the other may share bytes.
// CHECK-LABEL: plan.program @apart
plan.program @apart attributes {arena_bytes = 128 : i64, arena_lower_bound = 128 : i64} {
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  %a = plan.slice arena[0, 64]
  %b = plan.slice arena[64, 64]
  %c = plan.slice arena[0, 64]
  plan.fill 0 -> (%a)
  plan.copy(%a) -> (%b)
  plan.copy(%b) -> (%c)
  plan.copy(%c) -> (%y)
}

// Commands of three streams in the order that their waits make: the last follows the first through
// the second.
plan.program @streams attributes {arena_bytes = 192 : i64, arena_lower_bound = 64 : i64} {
  %a = plan.slice arena[0, 64]
  %b = plan.slice arena[64, 64]
  %c = plan.slice arena[128, 64]
  plan.fill 0 -> (%a)
  plan.fill 0 -> (%c) {stream = 2}
  plan.copy(%a) -> (%b) {stream = 1, waits = array<i64: 0>}
  plan.copy(%b) -> (%a) {stream = 2, waits = array<i64: 2>}
}
