// RUN: sinter-opt %s --verify-roundtrip | FileCheck %s

#panels = #sinter.panels<width = 64, interleave = 1, depth = 16>
#keys = #sinter.key_panels<width = 16, interleave = 2>

// CHECK: sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3", features = "+avx2,+fma", vector_bits = 256
module attributes {sinter.target = #sinter.target<kind = "cpu", chip = "x86-64-v3",
    features = "+avx2,+fma", vector_bits = 256, registers = 16, cores = 2, gflops_f32 = 192,
    gflops_bf16 = 192, memory_gbs = 30, launch_ns = 1000, l1_bytes = 32768, l2_bytes = 1048576,
    l3_bytes = 0>} {

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xbf16> {
  // CHECK: sinter.add %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = sinter.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.sub %0, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = sinter.mul %1, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = sinter.div %2, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = sinter.maximum %3, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = sinter.minimum %4, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = sinter.neg %5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = sinter.exp %6 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %8 = sinter.rsqrt %7 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %9 = sinter.tanh %8 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = sinter.sigmoid %9 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = sinter.relu %10 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %12 = sinter.silu %11 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.log
  // CHECK: sinter.sqrt
  %16 = sinter.log %12 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %17 = sinter.sqrt %16 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.gelu %{{.*}} {tanh}
  %13 = sinter.gelu %17 {tanh} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.softcap %{{.*}} {cap = 3.000000e+01 : f64}
  %14 = sinter.softcap %13 {cap = 30.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.cast
  %15 = sinter.cast %14 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  return %15 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @experts
func.func @experts(%x: tensor<4x8xf32>, %p: tensor<4x5xf32>, %w: tensor<5x16x8xf32>,
                   %panels: tensor<5x16x64xf32, #panels>, %q: tensor<5x16x8xi4>,
                   %s: tensor<5x16x2xf16>, %m: tensor<5x16x2xf32>)
    -> (tensor<4x64xf32>, tensor<5x8x16xf32>, tensor<8x16xf32>) {
  // CHECK: sinter.top_k %{{.*}} : (tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  %weights, %ids = sinter.top_k %p : (tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  // CHECK: sinter.route
  %order, %tokens, %places, %offsets = sinter.route %ids : (tensor<4x2xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<4x2xi32>, tensor<6xi32>)
  // CHECK: sinter.dispatch
  %rows = sinter.dispatch %x, %tokens, %places : (tensor<4x8xf32>, tensor<8xi32>, tensor<4x2xi32>) -> tensor<8x8xf32>
  // CHECK: sinter.grouped_matmul %{{.*}}, %{{.*}}, %{{.*}} {transpose_rhs}
  %y = sinter.grouped_matmul %rows, %w, %offsets {transpose_rhs} : (tensor<8x8xf32>, tensor<5x16x8xf32>, tensor<6xi32>) -> tensor<8x16xf32>
  // CHECK: sinter.grouped_matmul %{{.*}} : (tensor<8x16xf32>, tensor<5x16x64xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>, tensor<6xi32>)
  %z = sinter.grouped_matmul %y, %panels, %offsets : (tensor<8x16xf32>, tensor<5x16x64xf32, #panels>, tensor<6xi32>) -> tensor<8x64xf32>
  // CHECK: sinter.combine
  %out = sinter.combine %z, %places, %tokens, %order, %weights : (tensor<8x64xf32>, tensor<4x2xi32>, tensor<8xi32>, tensor<8xi32>, tensor<4x2xf32>) -> tensor<4x64xf32>
  // CHECK: sinter.grouped_outer
  %dw = sinter.grouped_outer %rows, %y, %offsets : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<6xi32>) -> tensor<5x8x16xf32>
  // CHECK: sinter.grouped_matmul %{{.*}}, %{{.*}}, %{{.*}} scales %{{.*}} minima %{{.*}} {transpose_rhs}
  %u = sinter.grouped_matmul %rows, %q, %offsets scales %s minima %m {transpose_rhs} : (tensor<8x8xf32>, tensor<5x16x8xi4>, tensor<6xi32>, tensor<5x16x2xf16>, tensor<5x16x2xf32>) -> tensor<8x16xf32>
  return %out, %dw, %u : tensor<4x64xf32>, tensor<5x8x16xf32>, tensor<8x16xf32>
}

// CHECK-LABEL: func.func @index
func.func @index(%x: tensor<4x8xf32>, %start: tensor<2xi32>, %count: tensor<2xi32>)
    -> (tensor<2x4x16xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x2xf32>) {
  // CHECK: sinter.constant dense<1.000000e+00> : tensor<8xf32>
  %0 = sinter.constant dense<1.0> : tensor<8xf32>
  // CHECK: sinter.broadcast %{{.*}} {dims = array<i64: 1>}
  %1 = sinter.broadcast %0 {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.concat %{{.*}}, %{{.*}} {dim = 1 : i64}
  %2 = sinter.concat %x, %1 {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %3 = sinter.broadcast %2 {dims = array<i64: 1, 2>} : (tensor<4x16xf32>) -> tensor<2x4x16xf32>
  // CHECK: sinter.slice %{{.*}} {offsets = array<i64: 1, 4>}
  %4 = sinter.slice %x {offsets = array<i64: 1, 4>} : (tensor<4x8xf32>) -> tensor<2x4xf32>
  // CHECK: sinter.reshape
  %5 = sinter.reshape %4 : (tensor<2x4xf32>) -> tensor<2x2x2xf32>
  // CHECK: sinter.transpose %{{.*}} {permutation = array<i64: 1, 0>}
  %6 = sinter.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: sinter.pack %{{.*}} : (tensor<8x4xf32>) -> tensor<8x4xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
  %7 = sinter.pack %6 : (tensor<8x4xf32>) -> tensor<8x4xf32, #panels>
  // CHECK: sinter.positions
  %8 = sinter.positions %start : (tensor<2xi32>) -> tensor<2x3xi32>
  // CHECK: sinter.embedding
  %9 = sinter.embedding %x, %8 : (tensor<4x8xf32>, tensor<2x3xi32>) -> tensor<2x3x8xf32>
  // CHECK: sinter.embedding %{{.*}}, %{{.*}} {transpose_table} : (tensor<8x4xf32, #sinter.panels<
  %11 = sinter.embedding %7, %8 {transpose_table} : (tensor<8x4xf32, #panels>, tensor<2x3xi32>) -> tensor<2x3x8xf32>
  // CHECK: sinter.last_row
  %10 = sinter.last_row %5, %count : (tensor<2x2x2xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  return %3, %9, %11, %10 : tensor<2x4x16xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4xf32> {
  // CHECK: sinter.rms_norm %{{.*}}, %{{.*}} {eps = 1.000000e-05 : f64}
  %0 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {eps
  %1 = sinter.layer_norm %0, %w, %w {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.layer_norm %{{.*}}, %{{.*}} {eps
  %2 = sinter.layer_norm %1, %w {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.reduce mean %{{.*}} : (tensor<4x8xf32>) -> tensor<4xf32>
  %3 = sinter.reduce mean %2 : (tensor<4x8xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: func.func @training
func.func @training(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %ids: tensor<4xi32>, %seed: tensor<2xi32>)
    -> (tensor<8xf32>, tensor<9x8xf32>) {
  // CHECK: sinter.dropout %{{.*}}, %{{.*}} {probability = 1.000000e-01 : f64, stream = 3 : i64}
  %0 = sinter.dropout %x, %seed {probability = 0.1, stream = 3 : i64} : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<4x8xf32>
  // CHECK: sinter.one_hot %{{.*}} : (tensor<4xi32>) -> tensor<4x8xf32>
  %1 = sinter.one_hot %ids : (tensor<4xi32>) -> tensor<4x8xf32>
  // CHECK: sinter.pick %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>
  %2 = sinter.pick %1, %ids : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>
  // CHECK: sinter.cross_entropy %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>
  %3 = sinter.cross_entropy %0, %ids : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>
  // CHECK: sinter.cross_entropy_grad {{.*}} {z_loss = 1.000000e-04 : f64}
  %4 = sinter.cross_entropy_grad %0, %ids, %3 {z_loss = 1.0e-4 : f64} : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.rms_norm_grad %{{.*}}, %{{.*}}, %{{.*}} {eps
  %5:2 = sinter.rms_norm_grad %0, %w, %4 {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>)
  // CHECK: sinter.layer_norm_grad %{{.*}}, %{{.*}}, %{{.*}} {eps
  %6:3 = sinter.layer_norm_grad %5#0, %w, %4 {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  // CHECK: sinter.column_sum %{{.*}} : (tensor<2x8xf32>) -> tensor<8xf32>
  %7 = sinter.column_sum %6#1 : (tensor<2x8xf32>) -> tensor<8xf32>
  // CHECK: sinter.sum_parts %{{.*}} : (tensor<2x8xf32>) -> tensor<8xf32>
  %14 = sinter.sum_parts %6#1 : (tensor<2x8xf32>) -> tensor<8xf32>
  // CHECK: sinter.embedding_grad %{{.*}}, %{{.*}} {rows = 9 : i64}
  %8 = sinter.embedding_grad %ids, %6#0 {rows = 9 : i64} : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  // CHECK: sinter.embedding_grad %{{.*}}, %{{.*}} from %[[START:.*]] {rows = 9 : i64}
  %part = sinter.constant dense<4> : tensor<1xi32>
  %rows = sinter.embedding_grad %ids, %6#0 from %part {rows = 9 : i64} : (tensor<4xi32>, tensor<4x8xf32>, tensor<1xi32>) -> tensor<9x8xf32>
  // CHECK: sinter.embedding_grad %{{.*}}, %{{.*}}, %{{.*}} {rows = 9 : i64}
  %9 = sinter.embedding_grad %ids, %6#0, %8 {rows = 9 : i64} : (tensor<4xi32>, tensor<4x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  return %7, %9 : tensor<8xf32>, tensor<9x8xf32>
}

// CHECK-LABEL: func.func @updates
func.func @updates(%p: tensor<4x8xf32>, %s: tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: sinter.adamw %{{.*}} {beta1 = 9.000000e-01 : f64, beta2
  %0:4 = sinter.adamw %p, %p, %p, %p, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: sinter.stochastic_round %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xbf16>
  %words = sinter.constant dense<[3, 4]> : tensor<2xi32>
  %n = sinter.stochastic_round %p, %words, %words : (tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xbf16>
  // CHECK: sinter.adamw %{{.*}} {beta1 = {{.*}}-> (tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xbf16>)
  %a:3 = sinter.adamw %p, %p, %n, %n, %s, %s, %s, %s, %words, %words {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>)
      -> (tensor<4x8xf32>, tensor<4x8xbf16>, tensor<4x8xbf16>)
  // CHECK: sinter.sgd %{{.*}} {momentum = 9.000000e-01 : f64, nesterov
  %1:2 = sinter.sgd %0#0, %p, %s, %s, %p {momentum = 0.9, nesterov, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.1}
      : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: sinter.square_sum %{{.*}}, %{{.*}} :
  %2 = sinter.square_sum %1#0 : (tensor<4x8xf32>) -> tensor<4xf32>
  %3 = sinter.square_sum %1#1, %2 : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: sinter.carry %{{.*}}, %{{.*}} :
  %carried:2 = sinter.carry %1#0, %1#1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %4 = sinter.broadcast %3 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.where_finite
  %6 = sinter.where_finite %4, %4, %p : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0#1, %6 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<1x4x4x8xf32>, %r: tensor<1x4x2x8xf32>, %cos: tensor<16x4xf32>,
                     %start: tensor<1xi32>, %count: tensor<1xi32>, %slopes: tensor<4xf32>,
                     %k: tensor<1x32x2x8xbf16, #keys>, %v: tensor<1x32x2x8xbf16, #sinter.head_major>)
    -> tensor<1x4x4x8xf32> {
  // CHECK: sinter.rotary %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {interleaved}
  %0 = sinter.rotary %q, %cos, %cos, %start {interleaved} : (tensor<1x4x4x8xf32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<1xi32>) -> tensor<1x4x4x8xf32>
  // CHECK: sinter.cache_append {{.*}} -> tensor<1x32x2x8xbf16, #sinter.key_panels<width = 16, interleave = 2>>
  %1 = sinter.cache_append %k, %r, %start, %count : (tensor<1x32x2x8xbf16, #keys>, tensor<1x4x2x8xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x32x2x8xbf16, #keys>
  // CHECK: sinter.attention {{.*}}causal{{.*}}scale = 3.500000e-01 : f64, softcap = 5.000000e+01 : f64, window = 16 : i64
  %2 = sinter.attention %0, %1, %v, %start, %slopes {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0, 0, 0>, scale = 0.35 : f64, softcap = 50.0 : f64, window = 16 : i64}
      : (tensor<1x4x4x8xf32>, tensor<1x32x2x8xbf16, #keys>, tensor<1x32x2x8xbf16, #sinter.head_major>, tensor<1xi32>, tensor<4xf32>) -> tensor<1x4x4x8xf32>
  return %2 : tensor<1x4x4x8xf32>
}

// CHECK-LABEL: func.func @attention_grad
func.func @attention_grad(%q: tensor<1x4x4x8xf32>, %k: tensor<1x4x2x8xf32>, %first: tensor<1x4xi32>)
    -> (tensor<1x4x4x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) {
  // CHECK: sinter.attention {{.*}} -> (tensor<1x4x4x8xf32>, tensor<1x4x4xf32>)
  %0:2 = sinter.attention %q, %k, %k, %first {causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0, 0>, scale = 0.35 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4xi32>) -> (tensor<1x4x4x8xf32>, tensor<1x4x4xf32>)
  // CHECK: sinter.attention_grad {{.*}}causal{{.*}}scale = 3.500000e-01 : f64
  %1:3 = sinter.attention_grad %q, %k, %k, %0#0, %0#1, %0#1, %first {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 1, 0, 0>, scale = 0.35 : f64}
      : (tensor<1x4x4x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4xi32>) -> (tensor<1x4x4x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
  return %1#0, %1#1, %1#2 : tensor<1x4x4x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>
}

// CHECK-LABEL: func.func @kernels
func.func @kernels(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  // CHECK: sinter.matmul %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // CHECK: sinter.matmul {{.*}} {transpose_rhs}
  %1 = sinter.matmul %0, %w {transpose_rhs} : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  // CHECK: sinter.matmul {{.*}} {transpose_lhs} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %dw = sinter.matmul %x, %0 {transpose_lhs} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  // CHECK: sinter.fusion gemm(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x16xf32>) -> (tensor<4x16xf32>) {
  %2 = sinter.fusion gemm(%1, %w : tensor<4x8xf32>, tensor<8x16xf32>) -> (tensor<4x16xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>):
    %3 = sinter.matmul %a, %b : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    // CHECK: sinter.yield %{{.*}} : tensor<4x16xf32>
    sinter.yield %3 : tensor<4x16xf32>
  }
  // CHECK: sinter.call_kernel @relu(%{{.*}}) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %4 = sinter.call_kernel @relu(%2) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %4 : tensor<4x16xf32>
}
func.func private @relu(%x: tensor<4x16xf32>) -> tensor<4x16xf32> attributes {sinter.kernel = "rows"} {
  %0 = sinter.relu %x : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
}
