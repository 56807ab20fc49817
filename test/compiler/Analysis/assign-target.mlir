// RUN: sinter-opt %s --sinter-assign-target="target=cpu:x86-64-v4 cores=4" | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target="target=cpu:znver4 cores=2" | FileCheck %s --check-prefix=ZEN4
// RUN: sinter-opt %s --sinter-assign-target | FileCheck %s --check-prefix=HOST

// CHECK: sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v4"
// CHECK-SAME: +avx512f
// CHECK-SAME: vector_bits = 512, registers = 32, cores = 4, gflops_f32 = 1024, gflops_bf16 = 682, memory_gbs = 140, launch_ns = 1500

// ZEN4: chip = "znver4"
// ZEN4-SAME: gflops_f32 = 256, gflops_bf16 = 512

// HOST: kind = "cpu"
module {}
