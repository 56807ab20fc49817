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
  plan.alternatives {
    plan.launch @k grid 1 (%a) -> (%y)
  } or {
    plan.launch @k2 grid 1 (%a) -> (%y, %w)
  }
}

// -----

plan.program @not_earlier attributes {arena_bytes = 128 : i64, arena_lower_bound = 128 : i64} {
  %a = plan.slice arena[0, 64]
  // expected-error @below {{expected it to wait for earlier commands of other streams, not for 0}}
  plan.fill 0 -> (%a) {stream = 1, waits = array<i64: 0>}
}

// -----

plan.program @own_stream attributes {arena_bytes = 128 : i64, arena_lower_bound = 128 : i64} {
  %a = plan.slice arena[0, 64]
  plan.fill 0 -> (%a)
  // expected-error @below {{expected it to wait for earlier commands of other streams, not for 0}}
  plan.fill 1 -> (%a) {waits = array<i64: 0>}
}

// -----

// What is written is read without a wait.
plan.program @read_after_write attributes {arena_bytes = 128 : i64, arena_lower_bound = 128 : i64} {
  %a = plan.slice arena[0, 64]
  %b = plan.slice arena[64, 64]
  // expected-note @below {{this command}}
  plan.fill 0 -> (%a)
  // expected-error @below {{expected it to wait, directly or not, for command 0: one writes what the other reads or writes}}
  plan.copy(%a) -> (%b) {stream = 1}
}

// -----

// Memory is used again before who reads it is done.
plan.program @write_after_read attributes {arena_bytes = 192 : i64, arena_lower_bound = 128 : i64} {
  %a = plan.slice arena[0, 64]
  %b = plan.slice arena[64, 64]
  %again = plan.slice arena[0, 64]
  plan.fill 0 -> (%a)
  // expected-note @below {{this command}}
  plan.copy(%a) -> (%b) {stream = 1, waits = array<i64: 0>}
  // expected-error @below {{expected it to wait, directly or not, for command 1}}
  plan.fill 1 -> (%again)
}

// -----

// A library writes its workspace.
plan.program @workspace attributes {arena_bytes = 512 : i64, arena_lower_bound = 256 : i64} {
  %x = plan.slice input[0, 64] "x" : tensor<4x4xf32>
  %p = plan.slice parameter[0, 64] "p"
  %y = plan.slice output[0, 64] "y" : tensor<4x4xf32>
  %z = plan.slice output[64, 64] "z" : tensor<4x4xf32>
  %w = plan.slice arena[0, 256]
  // expected-note @below {{this command}}
  plan.gemm(%x, %p) workspace(%w) -> (%y) {m = 4, n = 4, k = 4, dtype = f32, out_dtype = f32,
    lhs_stride = 4, out_stride = 4, rhs_stride = 4}
  // expected-error @below {{expected it to wait, directly or not, for command 0}}
  plan.gemm(%x, %p) workspace(%w) -> (%z) {m = 4, n = 4, k = 4, dtype = f32, out_dtype = f32,
    lhs_stride = 4, out_stride = 4, rhs_stride = 4, stream = 1}
}

// -----

// What other ranks still read is written.
plan.program @sent attributes {arena_bytes = 256 : i64, arena_lower_bound = 192 : i64} {
  %g = plan.slice arena[0, 64]
  %parts = plan.slice arena[64, 64]
  %next = plan.slice arena[0, 64]
  plan.fill 0 -> (%g)
  // expected-note @below {{this command}}
  plan.collective all_to_all ["data"](%g) -> (%parts) {stream = 1, waits = array<i64: 0>}
  // expected-error @below {{expected it to wait, directly or not, for command 1: one writes what the other reads or writes}}
  plan.fill 1 -> (%next)
}

// -----

// What has not arrived is read: the wait is for the collective before.
plan.program @not_arrived attributes {arena_bytes = 320 : i64, arena_lower_bound = 320 : i64} {
  %w = plan.slice state[0, 64] "w" : tensor<16xf32>
  %v = plan.slice state[64, 64] "v" : tensor<16xf32>
  %first = plan.slice arena[0, 128]
  %second = plan.slice arena[128, 128]
  %y = plan.slice output[0, 128] "y" : tensor<32xf32>
  plan.collective all_gather ["data"](%w) -> (%first) {stream = 1}
  // expected-note @below {{this command}}
  plan.collective all_gather ["data"](%v) -> (%second) {stream = 1}
  // expected-error @below {{expected it to wait, directly or not, for command 1}}
  plan.copy(%second) -> (%y) {waits = array<i64: 0>}
}

// -----

// What has not arrived along one axis is sent along another one: their streams know nothing of each
// other.
plan.program @two_axes attributes {arena_bytes = 320 : i64, arena_lower_bound = 320 : i64} {
  %w = plan.slice state[0, 64] "w" : tensor<16xf32>
  %all = plan.slice arena[0, 128]
  %parts = plan.slice arena[128, 128]
  // expected-note @below {{this command}}
  plan.collective all_gather ["data"](%w) -> (%all) {stream = 1}
  // expected-error @below {{expected it to wait, directly or not, for command 0}}
  plan.collective all_to_all ["tensor"](%all) -> (%parts) {stream = 2}
}
