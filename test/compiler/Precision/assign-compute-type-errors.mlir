// RUN: not sinter-opt %s --sinter-assign-compute-type=compute-type=f64 2>&1 | FileCheck %s --check-prefix=COMPUTE
// RUN: not sinter-opt %s --sinter-assign-compute-type=cache-type=int8 2>&1 | FileCheck %s --check-prefix=CACHE
// RUN: not sinter-opt %s --sinter-assign-compute-type=cache-type=f16 2>&1 | FileCheck %s --check-prefix=CACHE16

// COMPUTE: error: expected an element type f32, bf16 or f16, got f64
// CACHE: error: expected an element type f32 or bf16, got int8
// CACHE16: error: expected an element type f32 or bf16, got f16
module {}
