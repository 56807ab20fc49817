// RUN: sinter-opt %s --sinter-assign-offsets --sinter-verify-memory | FileCheck %s

// On a GPU slices start where cudaMalloc's memory would.
module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "",
    vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 67000, gflops_bf16 = 989000,
    memory_gbs = 4320, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 262144,
    l3_bytes = 52428800>} {
  // CHECK-LABEL: plan.program @decode attributes {arena_bytes = 768 : i64, arena_lower_bound = 768 : i64}
  plan.program @decode {
    %x = plan.slice input[0, 64] "x" : tensor<16xf32>
    %a = plan.alloc 300
    %b = plan.alloc 100
    // CHECK-DAG: plan.slice arena[{{0|256}}, 300]
    // CHECK-DAG: plan.slice arena[{{0|512}}, 100]
    plan.copy(%x) -> (%a)
    plan.copy(%a) -> (%b)
  }

  // @second could be written where @first was; there is room elsewhere, so that it need not wait
  // for those who read that.
  // CHECK-LABEL: plan.program @late attributes {arena_bytes = 2048 : i64, arena_lower_bound = 2048 : i64}
  plan.program @late {
    // CHECK: %[[FIRST:.*]] = plan.slice arena[[[OFFSET:[0-9]+]], 256]
    // CHECK-NOT: arena[[[OFFSET]], 256]
    %first = plan.alloc 256
    %second = plan.alloc 256
    %large = plan.alloc 2048
    plan.fill 0 -> (%large)
    plan.fill 0 -> (%first)
    plan.fill 0 -> (%second)
  }
}
