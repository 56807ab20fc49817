// RUN: sinter-opt %s --split-input-file --verify-diagnostics

// constant_c1
// expected-error @below {{expected an offset that is a multiple of 64}}
plan.constant 32 dense<1.0> : tensor<2xf32>

// -----

plan.program @slice_c1 {
  // expected-error @below {{expected offset and bytes not to be negative}}
  %0 = plan.slice arena[-64, 8]
}

// -----

plan.program @slice_c2 {
  // expected-error @below {{expected the name of a checkpoint tensor}}
  %0 = plan.slice checkpoint[0, 8]
}

// -----

plan.program @launch_c1_out_of_range {
  %0 = plan.alloc 64
  %1 = plan.alloc 64
  // expected-error @below {{expected reusable to list inputs}}
  plan.launch @k grid 1 (%0) -> (%1) {reusable = array<i64: 1>}
}

// -----

plan.program @launch_c2 {
  %0 = plan.alloc 64
  // expected-error @below {{expected one type for each of 1 outputs, got 2}}
  plan.launch @k grid 1 (%0) -> (%0) {output_types = [f32, f32]}
}

// -----

plan.program @gemm_c1 {
  %0 = plan.alloc 64
  // expected-error @below {{expected 1 extra slices for its post-ops, got 0}}
  plan.gemm(%0, %0) -> (%0) {m = 1, n = 4, k = 4, dtype = f32, out_dtype = f32, lhs_stride = 4,
    rhs_stride = 4, out_stride = 4, post_ops = [#plan.post_op<add, f32, 4>]}
}

// -----

plan.program @gemm_c2 {
  %0 = plan.alloc 64
  // expected-error @below {{expected scales of both sides where they are of 8 bits, and none otherwise}}
  plan.gemm(%0, %0) -> (%0) {m = 1, n = 4, k = 4, dtype = f8E4M3FN, out_dtype = f32, lhs_stride = 4,
    rhs_stride = 4, out_stride = 4}
}

// -----

plan.program @gemm_c3 {
  %0 = plan.alloc 64
  // expected-error @below {{expected an element type of rhs alone with fp8 only, got 'f32' and 'f8E5M2'}}
  plan.gemm(%0, %0) -> (%0) {m = 1, n = 4, k = 4, dtype = f32, rhs_dtype = f8E5M2, out_dtype = f32,
    lhs_stride = 4, rhs_stride = 4, out_stride = 4}
}

// -----

plan.program @attention_c1_layout {
  %0 = plan.alloc 64
  // expected-error @below {{expected layouts of an offset and three strides}}
  plan.attention(%0, %0, %0) -> (%0) {batch = 1, length = 1, keys = 1, heads = 2, key_heads = 1, head_size = 8,
    dtype = bf16, out_dtype = bf16, scale = 1.0 : f32, query_layout = array<i64: 0, 32, 8>,
    key_layout = array<i64: 16, 32, 32, 8>, value_layout = array<i64: 24, 32, 32, 8>}
}

// -----

plan.program @attention_c1_negative {
  %0 = plan.alloc 64
  // expected-error @below {{expected layouts of an offset and three strides}}
  plan.attention(%0, %0, %0) -> (%0) {batch = 1, length = 1, keys = 1, heads = 2, key_heads = 1, head_size = 8,
    dtype = bf16, out_dtype = bf16, scale = 1.0 : f32, query_layout = array<i64: 0, 32, 32, 8>,
    key_layout = array<i64: -16, 32, 32, 8>, value_layout = array<i64: 24, 32, 32, 8>}
}

// -----

plan.program @attention_c2 {
  %0 = plan.alloc 64
  // expected-error @below {{expected 3 heads to be a multiple of 2 heads of keys}}
  plan.attention(%0, %0, %0) -> (%0) {batch = 1, length = 1, keys = 1, heads = 3, key_heads = 2, head_size = 8,
    dtype = bf16, out_dtype = bf16, scale = 1.0 : f32, query_layout = array<i64: 0, 32, 32, 8>,
    key_layout = array<i64: 16, 32, 32, 8>, value_layout = array<i64: 24, 32, 32, 8>}
}

// -----

plan.program @pack_c1_columns {
  %0 = plan.alloc 64
  // expected-error @below {{expected one layout a source, with n adding up to 4}}
  plan.pack(%0) -> (%0) {k = 4, n = 4, dtype = f32, width = 64, interleave = 1, depth = 16,
    source_layouts = [#plan.pack_source<dtype = f32, n = 3, stride = 4, transposed = true>]}
}

// -----

plan.program @pack_c1_sources {
  %0 = plan.alloc 64
  // expected-error @below {{expected one layout a source, with n adding up to 4}}
  plan.pack(%0, %0) -> (%0) {k = 4, n = 4, dtype = f32, width = 64, interleave = 1, depth = 16,
    source_layouts = [#plan.pack_source<dtype = f32, n = 4, stride = 4, transposed = true>]}
}

// -----

plan.program @alternatives_c1 {
  %0 = plan.alloc 64
  // expected-error @below {{expected two options or more}}
  plan.alternatives {
    plan.fill 0 -> (%0)
  }
}

// -----

plan.program @alternatives_c2_none {
  %0 = plan.alloc 64
  // expected-error @below {{expected each option to be one command}}
  plan.alternatives {
    plan.fill 0 -> (%0)
  } or {
  }
}

// -----

plan.program @alternatives_c2_two {
  %0 = plan.alloc 64
  // expected-error @below {{expected each option to be one command}}
  plan.alternatives {
    plan.fill 0 -> (%0)
    plan.fill 1 -> (%0)
  } or {
    plan.fill 1 -> (%0)
  }
}

// -----

plan.program @alternatives_c2_no_command {
  %0 = plan.alloc 64
  // expected-error @below {{expected each option to be one command}}
  plan.alternatives {
    plan.fill 0 -> (%0)
  } or {
    %1 = plan.alloc 64
  }
}

// -----

plan.program @alternatives_c2_nested {
  %0 = plan.alloc 64
  // expected-error @below {{expected each option to be one command}}
  plan.alternatives {
    plan.fill 0 -> (%0)
  } or {
    plan.alternatives {
      plan.fill 0 -> (%0)
    } or {
      plan.fill 0 -> (%0)
    }
  }
}

// -----

plan.program @alternatives_c3_output {
  %0 = plan.alloc 64
  // expected-note @below {{these bytes are not}}
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // expected-error @below {{expected what one option writes to be written by all}}
  plan.alternatives {
    plan.fill 0 -> (%0)
  } or {
    plan.launch @k grid 1 () -> (%0, %y)
  }
}

// -----

plan.program @alternatives_c3_used_later {
  %0 = plan.alloc 64
  // expected-note @below {{these bytes are not}}
  %1 = plan.alloc 64
  // expected-error @below {{expected what one option writes to be written by all}}
  plan.alternatives {
    plan.launch @k grid 1 () -> (%0, %1)
  } or {
    plan.fill 0 -> (%0)
  }
  plan.copy (%1) -> (%0)
}

// -----

plan.program @alternatives_c3_state {
  %0 = plan.alloc 64
  // expected-note @below {{these bytes are not}}
  %s = plan.slice state[0, 64] "k_cache.0" : tensor<16xf32>
  // expected-error @below {{expected what one option writes to be written by all}}
  plan.alternatives {
    plan.fill 0 -> (%0)
  } or {
    plan.launch @k grid 1 () -> (%0, %s)
  }
}

// -----

plan.program @collective_c1 {
  %part = plan.alloc 64
  %all = plan.alloc 100
  // expected-error @below {{expected slices of whole parts, got 64 bytes and 100 bytes}}
  plan.collective all_gather ["data"](%part) -> (%all)
}

// -----

plan.program @collective_c1_all_to_all {
  %a = plan.alloc 64
  %b = plan.alloc 128
  // expected-error @below {{expected slices of whole parts, got 64 bytes and 128 bytes}}
  plan.collective all_to_all ["data"](%a) -> (%b)
}

// -----

plan.program @collective_c2 {
  %a = plan.alloc 64
  %b = plan.alloc 64
  // expected-error @below {{expected the type of what is added}}
  plan.collective all_reduce ["data"](%a) -> (%b)
}
