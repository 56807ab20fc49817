// RUN: sinter-opt %s --sinter-verify-memory --split-input-file --verify-diagnostics

// expected-error @below {{expected arena_bytes to be at least arena_lower_bound after Memory}}
plan.program @not_planned {
}

// -----

// expected-error @below {{expected arena_bytes to be at least arena_lower_bound after Memory}}
plan.program @too_small attributes {arena_bytes = 64 : i64, arena_lower_bound = 128 : i64} {
}

// -----

plan.program @alloc attributes {arena_bytes = 64 : i64, arena_lower_bound = 64 : i64} {
  // expected-error @below {{expected every slice to have a place after Memory}}
  %0 = plan.alloc 64
}

// -----

plan.program @unaligned attributes {arena_bytes = 128 : i64, arena_lower_bound = 128 : i64} {
  // expected-error @below {{expected an offset that is a multiple of 64}}
  %0 = plan.slice arena[32, 64]
}

// -----

plan.program @beyond attributes {arena_bytes = 128 : i64, arena_lower_bound = 128 : i64} {
  // expected-error @below {{expected the slice to end within the arena's 128 bytes}}
  %0 = plan.slice arena[64, 65]
}

// -----

plan.program @overlap attributes {arena_bytes = 128 : i64, arena_lower_bound = 128 : i64} {
  // expected-note @below {{the other slice}}
  %a = plan.slice arena[0, 128]
  // expected-error @below {{expected slices that live at once not to overlap; both live at command 1}}
  %b = plan.slice arena[64, 64]
  plan.fill 0 -> (%a)
  plan.copy(%a) -> (%b)
}

// -----

// What only the second option needs lives while the choice runs, too.
plan.program @overlap_in_choice attributes {arena_bytes = 128 : i64, arena_lower_bound = 128 : i64} {
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // expected-note @below {{the other slice}}
  %a = plan.slice arena[0, 128]
  // expected-error @below {{expected slices that live at once not to overlap; both live at command 1}}
  %w = plan.slice arena[64, 64]
  plan.fill 0 -> (%a)
  plan.choice {
    plan.launch @k grid 1 (%a) -> (%y)
  } or {
    plan.launch @k2 grid 1 (%a) -> (%y, %w)
  }
}
