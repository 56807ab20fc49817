// RUN: sinter-opt %s --sinter-assign-offsets --sinter-verify-memory | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-offsets %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: Arena{{.*}}Function=decode{{.*}}3 buffers in 1216 bytes, the peak of live bytes is 1216
// CHECK-LABEL: plan.program @decode attributes {arena_bytes = 1216 : i64, arena_lower_bound = 1216 : i64}
plan.program @decode {
  %x = plan.slice input[0, 64] "x" : tensor<16xf32>
  // 100 bytes take 128 of the arena. The first and the last live apart and share their bytes.
  %a = plan.alloc 1000
  %b = plan.alloc 100
  %c = plan.alloc 1088
  %unused = plan.alloc 100000
  // CHECK: %[[A:.*]] = plan.slice arena[[[AC:[0-9]+]], 1000]
  // CHECK: %[[B:.*]] = plan.slice arena[{{[0-9]+}}, 100]
  // CHECK: %[[C:.*]] = plan.slice arena[[[AC]], 1088]
  // CHECK-NOT: plan.slice arena
  // CHECK: plan.copy(%{{.*}}) -> (%[[A]])
  plan.copy(%x) -> (%a)
  plan.copy(%a) -> (%b)
  plan.copy(%b) -> (%c)
}

// CHECK-LABEL: plan.program @empty attributes {arena_bytes = 0 : i64, arena_lower_bound = 0 : i64}
plan.program @empty {
}

// The workspaces of all options have a place, beside what lives while the choice runs.
// CHECK-LABEL: plan.program @choice attributes {arena_bytes = 384 : i64, arena_lower_bound = 384 : i64}
plan.program @choice {
  %x = plan.slice input[0, 64] "x" : tensor<16xf32>
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  %a = plan.alloc 64
  %b = plan.alloc 64
  %w1 = plan.alloc 128
  %w2 = plan.alloc 128
  plan.copy(%x) -> (%a)
  plan.alternatives {
    plan.launch @k grid 1 (%a) -> (%b, %w1)
  } or {
    plan.launch @k2 grid 1 (%a) -> (%b, %w2)
  }
  plan.copy(%b) -> (%y)
}
