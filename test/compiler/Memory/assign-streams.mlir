// RUN: sinter-opt %s --sinter-assign-streams --sinter-verify-memory --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-streams --split-input-file %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Sums and a product that leave most of the GPU idle run beside what needs neither.

// REMARK: Streams{{.*}}Function=beside{{.*}}2 streams with 2 events: 19.36 us, one after the other 26.00 us; beside others are column_sum (1)
module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "",
    vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 67000, gflops_bf16 = 989000,
    memory_gbs = 4320, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 262144,
    l3_bytes = 52428800>} {
  // CHECK-LABEL: plan.program @beside
  plan.program @beside attributes {arena_bytes = 1024 : i64, arena_lower_bound = 1024 : i64} {
    %x = plan.slice input[0, 256] "x" : tensor<64xf32>
    %a = plan.slice arena[0, 256]
    %b = plan.slice arena[256, 256]
    %c = plan.slice arena[512, 256]
    %y = plan.slice output[0, 256] "y" : tensor<64xf32>
    // CHECK: @first grid 1000
    // CHECK-NOT: stream
    // CHECK: @chain
    // CHECK-NOT: waits
    // CHECK: @sums
    // CHECK-SAME: stream = 1 : i64, waits = array<i64: 0>
    // CHECK: @both
    // CHECK-NOT: stream
    // CHECK-SAME: waits = array<i64: 2>
    plan.launch @first grid 1000 (%x) -> (%a) {predicted_ns = 4000, label = "first"}
    plan.launch @chain grid 1000 (%a) -> (%c) {predicted_ns = 9000, label = "chain"}
    plan.launch @sums grid 8 (%a) -> (%b) {predicted_ns = 10000, label = "column_sum"}
    plan.launch @both grid 1000 (%b, %c) -> (%y) {predicted_ns = 3000, label = "both"}
  }
}

// -----

// Memory that is used again orders, too: what writes it waits for who read it. What is ordered so
// already is not waited for: @e follows @c through @d.
module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "",
    vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 67000, gflops_bf16 = 989000,
    memory_gbs = 4320, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 262144,
    l3_bytes = 52428800>} {
  // CHECK-LABEL: plan.program @reused
  plan.program @reused attributes {arena_bytes = 1024 : i64, arena_lower_bound = 1024 : i64} {
    %x = plan.slice input[0, 256] "x" : tensor<64xf32>
    %a = plan.slice arena[0, 512]
    %b = plan.slice arena[512, 256]
    %again = plan.slice arena[256, 256]
    %y = plan.slice output[0, 256] "y" : tensor<64xf32>
    %z = plan.slice state[0, 256] "z" : tensor<64xf32>
    // CHECK: @a grid
    // CHECK-NOT: stream
    // CHECK: @b grid
    // CHECK-NOT: waits
    // CHECK: @c grid
    // CHECK-SAME: stream = 1 : i64, waits = array<i64: 0>
    // CHECK: @d grid
    // CHECK-NOT: stream
    // CHECK-SAME: waits = array<i64: 2>
    // CHECK: @e grid
    // CHECK-NOT: waits
    plan.launch @a grid 8 (%x) -> (%a) {predicted_ns = 4000}
    plan.launch @b grid 8 (%a) -> (%b) {predicted_ns = 20000}
    plan.launch @c grid 8 (%a) -> (%z) {predicted_ns = 20000}
    plan.launch @d grid 8 () -> (%again) {predicted_ns = 4000}
    plan.launch @e grid 1000 (%z) -> (%y) {predicted_ns = 4000}
  }
}

// -----

// What moves bytes to other ranks has a stream of its own, on a processor too; what sends nothing
// does not.
// REMARK: Streams{{.*}}Function=ranks{{.*}}2 streams with 2 events: {{.*}}; beside others are gather (2)
module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "",
    vector_bits = 256, registers = 16, cores = 8, gflops_f32 = 100, gflops_bf16 = 100,
    memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 262144,
    l3_bytes = 8388608>} {
  // CHECK-LABEL: plan.program @ranks
  plan.program @ranks attributes {arena_bytes = 1024 : i64, arena_lower_bound = 1024 : i64} {
    %x = plan.slice input[0, 256] "x" : tensor<64xf32>
    %w = plan.slice state[0, 128] "w" : tensor<32xf32>
    %v = plan.slice state[128, 128] "v" : tensor<32xf32>
    %a = plan.slice arena[0, 256]
    %all = plan.slice arena[256, 256]
    %more = plan.slice arena[512, 256]
    %part = plan.slice arena[768, 128]
    %y = plan.slice output[0, 256] "y" : tensor<64xf32>
    // CHECK: all_gather
    // CHECK-SAME: stream = 1 : i64
    // CHECK-NOT: waits
    // CHECK: @layer0
    // CHECK-NOT: stream
    // CHECK: all_gather
    // CHECK-SAME: stream = 1 : i64
    // CHECK-NOT: waits
    // CHECK: all_slice
    // CHECK-NOT: stream
    // CHECK-SAME: waits = array<i64: 0>
    // CHECK: @layer1
    // CHECK-SAME: waits = array<i64: 2>
    plan.collective all_gather ["data"](%w) -> (%all) {predicted_ns = 40000, label = "gather"}
    plan.launch @layer0 grid 64 (%x) -> (%a) {predicted_ns = 90000}
    plan.collective all_gather ["data"](%v) -> (%more) {predicted_ns = 40000, label = "gather"}
    plan.collective all_slice ["data"](%all) -> (%part) {predicted_ns = 1000}
    plan.launch @layer1 grid 64 (%a, %more, %part) -> (%y) {predicted_ns = 90000}
  }
}

// -----

// A gather of parameters takes long, and a sum of activations need not wait for it: on a GPU each axis
// has a stream. What computes is behind both.
// REMARK: StreamOfAxes{{.*}}Function=axes{{.*}}collectives along tensor have a stream of their own: 219.00 us, in that of others 413.00 us
// REMARK: Streams{{.*}}Function=axes{{.*}}3 streams with 3 events: 219.00 us, one after the other 416.00 us; beside others are gather (1), exchange (1)
module attributes {sinter.target = #sinter.target<kind = "cuda", chip = "sm_90", features = "",
    vector_bits = 128, registers = 255, cores = 132, gflops_f32 = 67000, gflops_bf16 = 989000,
    memory_gbs = 4320, launch_ns = 2000, l1_bytes = 232448, l2_bytes = 262144,
    l3_bytes = 52428800>} {
  // CHECK-LABEL: plan.program @axes
  plan.program @axes attributes {arena_bytes = 1280 : i64, arena_lower_bound = 1280 : i64} {
    %x = plan.slice input[0, 256] "x" : tensor<64xf32>
    %w = plan.slice state[0, 128] "w" : tensor<32xf32>
    %a = plan.slice arena[0, 256]
    %all = plan.slice arena[256, 256]
    %b = plan.slice arena[512, 256]
    %c = plan.slice arena[768, 256]
    %y = plan.slice output[0, 256] "y" : tensor<64xf32>
    // CHECK: all_gather
    // CHECK-SAME: stream = 1 : i64
    // CHECK: @first
    // CHECK-NOT: stream
    // CHECK: all_to_all
    // CHECK-SAME: stream = 2 : i64, waits = array<i64: 1>
    // CHECK: @second
    // CHECK-NOT: stream
    // CHECK-SAME: waits = array<i64: 2>
    // CHECK: @third
    // CHECK-SAME: waits = array<i64: 0>
    plan.collective all_gather ["data"](%w) -> (%all) {predicted_ns = 200000, label = "gather"}
    plan.launch @first grid 1000 (%x) -> (%a) {predicted_ns = 5000}
    plan.collective all_to_all ["tensor"](%a) -> (%b) {predicted_ns = 10000, label = "exchange"}
    plan.launch @second grid 1000 (%b) -> (%c) {predicted_ns = 200000}
    plan.launch @third grid 1000 (%c, %all) -> (%y) {predicted_ns = 1000}
  }
}
