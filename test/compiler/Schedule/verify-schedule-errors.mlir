// RUN: sinter-opt %s --sinter-verify-schedule --split-input-file --verify-diagnostics

// expected-error @below {{expected only programs, constants, parameters and kernels after Schedule}}
func.func @left() {
  return
}

// -----

plan.program @read_before_write {
  // expected-note @below {{these bytes are not}}
  %a = plan.alloc 64
  %y = plan.slice output[0, 64] "y"
  // expected-error @below {{expected what it reads to be written before}}
  plan.copy(%a) -> (%y)
}

// -----

plan.program @decode {
  %p = plan.slice parameter[0, 64] "p0"
  // expected-error @below {{expected nothing to be written to the parameter space in @decode}}
  plan.fill 0 -> (%p)
}

// -----

plan.program @preprocess {
  %w = plan.slice checkpoint[0, 64] "w"
  // expected-error @below {{expected nothing to be written to the checkpoint space in @preprocess}}
  plan.fill 0 -> (%w)
}

// -----

plan.program @foreign_op {
  // expected-error @below {{expected only slices and commands in a program}}
  %0 = arith.constant 0 : i64
}

// -----

plan.program @prefill {
  // expected-note @below {{the first one}}
  %c = plan.slice state[0, 64] "c" : tensor<16xf32>
}
plan.program @decode {
  // expected-error @below {{expected one place and type for "c" in all programs}}
  %c = plan.slice state[64, 64] "c" : tensor<16xf32>
}

// -----

plan.program @overlap {
  // expected-note @below {{which is here}}
  %a = plan.slice state[0, 65] "a"
  // expected-error @below {{expected "b" not to overlap with "a"}}
  %b = plan.slice state[64, 64] "b"
}

// -----

plan.program @decode {
  %w = plan.slice checkpoint[0, 64] "w"
  %y = plan.slice output[0, 64] "y"
  // expected-error @below {{expected the checkpoint to be read in @preprocess only}}
  plan.copy(%w) -> (%y)
}

// -----

plan.program @read_by_one_option {
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // expected-note @below {{these bytes are not}}
  %a = plan.alloc 64
  // expected-error @below {{expected what it reads to be written before}}
  plan.alternatives {
    plan.fill 0 -> (%y)
  } or {
    plan.copy(%a) -> (%y)
  }
}

// -----

plan.program @option_writes_an_input {
  %x = plan.slice input[0, 64] "x" : tensor<16xf32>
  // expected-error @below {{expected nothing to be written to the input space in @option_writes_an_input}}
  plan.alternatives {
    plan.fill 0 -> (%x)
  } or {
    plan.fill 0 -> (%x)
  }
}
