// RUN: sinter-opt %s --verify-roundtrip | FileCheck %s

// CHECK: plan.constant 0 dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf32>
plan.constant 0 dense<[1.0, 0.5]> : tensor<2xf32>

// CHECK: plan.parameter "model.norm.weight" : tensor<8xf32> mean 1.000000e+00 deviation 0.000000e+00
plan.parameter "model.norm.weight" : tensor<8xf32> mean 1.0 deviation 0.0

// CHECK-LABEL: plan.program @decode
plan.program @decode attributes {arena_bytes = 128 : i64, arena_lower_bound = 128 : i64} {
  // CHECK: plan.slice checkpoint[0, 32] "model.norm.weight" : tensor<8xf32>
  %w = plan.slice checkpoint[0, 32] "model.norm.weight" : tensor<8xf32>
  // CHECK: plan.slice constant[0, 8] : tensor<2xf32>
  %c = plan.slice constant[0, 8] : tensor<2xf32>
  // CHECK: plan.slice arena[64, 32]
  %a = plan.slice arena[64, 32]
  // CHECK: plan.alloc 64
  %b = plan.alloc 64
  %y = plan.slice output[0, 64] "y" : tensor<16xf32>
  // CHECK: plan.launch @k grid 4(%{{.*}}, %{{.*}}) -> (%{{.*}}) {flops = 8 : i64, label = "mul", output_types = [f32], reusable = array<i64: 0>}
  plan.launch @k grid 4 (%w, %c) -> (%a) {reusable = array<i64: 0>, label = "mul", flops = 8,
    output_types = [f32]}
  // CHECK: plan.gemm(%{{.*}}, %{{.*}}) workspace(%{{.*}}) -> (%{{.*}}) {{.*}}lhs_transposed{{.*}}rhs_stride = 8 : i64, rhs_transposed
  plan.gemm(%a, %w) workspace(%c) -> (%y) {m = 1, n = 16, k = 8, dtype = f32, out_dtype = f32,
    lhs_stride = 1, lhs_transposed, rhs_transposed, rhs_stride = 8, out_stride = 16}
  // CHECK: plan.gemm(%{{.*}}, %{{.*}}, %{{.*}}) -> (%{{.*}}) {dtype = f32
  // CHECK-SAME: post_ops = [#plan.post_op<bias, f32, 0>, #plan.post_op<gelu, f32, 0>]
  plan.gemm(%a, %w, %c) -> (%y) {m = 1, n = 16, k = 8, dtype = f32, out_dtype = f32,
    lhs_stride = 8, rhs_stride = 16, out_stride = 16,
    post_ops = [#plan.post_op<bias, f32, 0>, #plan.post_op<gelu, f32, 0>]}
  // CHECK: plan.gemm(%{{.*}}, %{{.*}}) scales(%{{.*}}, %{{.*}}) -> (%{{.*}}) {dtype = f8E4M3FN
  plan.gemm(%a, %w) scales(%c, %c) -> (%y) {m = 1, n = 16, k = 16, dtype = f8E4M3FN, out_dtype = f32,
    lhs_stride = 16, rhs_transposed, rhs_stride = 16, out_stride = 16}
  // CHECK: plan.attention(%{{.*}}, %{{.*}}, %{{.*}}) workspace(%{{.*}}) -> (%{{.*}}, %{{.*}}) {batch = 1 : i64, causal
  plan.attention(%a, %a, %a) workspace(%c) -> (%y, %b) {batch = 1, length = 1, keys = 1, heads = 2, key_heads = 1,
    head_size = 8, dtype = bf16, out_dtype = f32, scale = 1.0 : f32, causal, query_layout = array<i64: 0, 32, 32, 8>,
    key_layout = array<i64: 16, 32, 32, 8>, value_layout = array<i64: 24, 32, 32, 8>}
  // CHECK: plan.pack(%{{.*}}) -> (%{{.*}}) {depth = 16 : i64
  plan.pack(%w) -> (%b) {k = 4, n = 2, dtype = f32, width = 64, interleave = 1, depth = 16,
    source_layouts = [#plan.pack_source<dtype = f32, n = 2, stride = 4, transposed = true>]}
  // CHECK: plan.copy(%{{.*}}) -> (%{{.*}})
  plan.copy(%b) -> (%y)
  // CHECK: plan.collective all_gather ["data"](%{{.*}}) -> (%{{.*}})
  %part = plan.alloc 64
  %all = plan.alloc 128
  plan.collective all_gather ["data"](%part) -> (%all)
  // CHECK: plan.collective all_reduce ["data", "tensor"](%{{.*}}) -> (%{{.*}}) {dtype = f32}
  %sum = plan.alloc 64
  plan.collective all_reduce ["data", "tensor"](%part) -> (%sum) {dtype = f32}
  // CHECK: plan.fill 0 -> (%{{.*}})
  plan.fill 0 -> (%y)
}
