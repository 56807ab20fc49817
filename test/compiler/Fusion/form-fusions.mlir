// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-form-fusions | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-target=target=cpu:x86-64-v4 --sinter-form-fusions %remarks 2>&1 | FileCheck %s --check-prefix=REMARK

#panels = #sinter.panels<width = 64, interleave = 1, depth = 16>

// REMARK: [Passed] Fused | {{.*}}Function=residual_norm_cast | Remark="add + rms_norm + cast as one rows kernel: {{[0-9.]+ [mun]s}} together, {{[0-9.]+ [mun]s}} apart"
// REMARK: [Passed] Fused | {{.*}}Function=gemm_epilogue | Remark="matmul + add + gelu + add as one gemm kernel
// REMARK: [Passed] Fused | {{.*}}Function=attention | Remark="attention + cast as one attention kernel

// REMARK: [Missed] NotFused | {{.*}}Function=cycle | Remark="exp into rms_norm + add: {{.*}}; another kernel would have to run in between"

// Residual, norm and its consumer; the sum is a second result.
// CHECK-LABEL: func.func @residual_norm_cast
// CHECK: %[[F:.*]]:2 = sinter.fusion rows(
// CHECK: %[[S:.*]] = sinter.add
// CHECK: %[[N:.*]] = sinter.rms_norm %[[S]]
// CHECK: %[[C:.*]] = sinter.cast %[[N]]
// CHECK: sinter.yield %[[S]], %[[C]]
func.func @residual_norm_cast(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %w: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xbf16>) attributes {sinter.entry} {
  %0 = sinter.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.rms_norm %0, %w {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = sinter.cast %1 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  return %0, %2 : tensor<4x8xf32>, tensor<4x8xbf16>
}

// Bias, activation and residual; the norm after them needs whole rows and is left out.
// CHECK-LABEL: func.func @gemm_epilogue
// CHECK: sinter.fusion gemm(
// CHECK: sinter.matmul
// CHECK: sinter.broadcast
// CHECK: sinter.add
// CHECK: sinter.gelu
// CHECK: sinter.add
// CHECK: sinter.yield
// CHECK: sinter.rms_norm
func.func @gemm_epilogue(%x: tensor<4x8xf32>, %w: tensor<8x16xf32, #panels>, %b: tensor<16xf32>,
                         %h: tensor<4x16xf32>, %n: tensor<16xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32, #panels>) -> tensor<4x16xf32>
  %1 = sinter.broadcast %b {dims = array<i64: 1>} : (tensor<16xf32>) -> tensor<4x16xf32>
  %2 = sinter.add %0, %1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = sinter.gelu %2 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %4 = sinter.add %h, %3 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %5 = sinter.rms_norm %4, %n {eps = 1.0e-5} : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return %4, %5 : tensor<4x16xf32>, tensor<4x16xf32>
}

// A few rows: gate and up are multiplied before they leave the kernel.
// CHECK-LABEL: func.func @swiglu
// CHECK: sinter.fusion gemm({{.*}} -> (tensor<1x64xf32>)
// CHECK-NOT: sinter.fusion
func.func @swiglu(%x: tensor<1x8xf32>, %w: tensor<8x128xf32, #panels>) -> tensor<1x64xf32>
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<1x8xf32>, tensor<8x128xf32, #panels>) -> tensor<1x128xf32>
  %g = sinter.slice %0 {offsets = array<i64: 0, 0>} : (tensor<1x128xf32>) -> tensor<1x64xf32>
  %u = sinter.slice %0 {offsets = array<i64: 0, 64>} : (tensor<1x128xf32>) -> tensor<1x64xf32>
  %s = sinter.silu %g : (tensor<1x64xf32>) -> tensor<1x64xf32>
  %m = sinter.mul %s, %u : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  return %m : tensor<1x64xf32>
}

// Where up does not begin with a panel it is a kernel of its own.
// CHECK-LABEL: func.func @swiglu_narrow
// CHECK: sinter.matmul
// CHECK: sinter.fusion rows(
func.func @swiglu_narrow(%x: tensor<1x8xf32>, %w: tensor<8x32xf32, #panels>) -> tensor<1x16xf32>
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<1x8xf32>, tensor<8x32xf32, #panels>) -> tensor<1x32xf32>
  %g = sinter.slice %0 {offsets = array<i64: 0, 0>} : (tensor<1x32xf32>) -> tensor<1x16xf32>
  %u = sinter.slice %0 {offsets = array<i64: 0, 16>} : (tensor<1x32xf32>) -> tensor<1x16xf32>
  %s = sinter.silu %g : (tensor<1x16xf32>) -> tensor<1x16xf32>
  %m = sinter.mul %s, %u : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  return %m : tensor<1x16xf32>
}

// Q, K and V of one product: what is done to them reads it once.
// CHECK-LABEL: func.func @rotary_append
// CHECK: sinter.fusion rows(
// CHECK-DAG: sinter.rotary
// CHECK-DAG: sinter.rotary
// CHECK-DAG: sinter.cache_append
// CHECK-DAG: sinter.cache_append
// CHECK: sinter.yield
// CHECK: sinter.attention
func.func @rotary_append(%x: tensor<1x4x8xf32>, %w: tensor<8x32xf32, #panels>,
                         %cos: tensor<16x2xf32>, %sin: tensor<16x2xf32>, %start: tensor<1xi32>,
                         %count: tensor<1xi32>, %kc: tensor<1x16x2x4xf32>, %vc: tensor<1x16x2x4xf32>)
    -> (tensor<1x4x4x4xf32>, tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<1x4x8xf32>, tensor<8x32xf32, #panels>) -> tensor<1x4x32xf32>
  %q = sinter.slice %0 {offsets = array<i64: 0, 0, 0>} : (tensor<1x4x32xf32>) -> tensor<1x4x16xf32>
  %k = sinter.slice %0 {offsets = array<i64: 0, 0, 16>} : (tensor<1x4x32xf32>) -> tensor<1x4x8xf32>
  %v = sinter.slice %0 {offsets = array<i64: 0, 0, 24>} : (tensor<1x4x32xf32>) -> tensor<1x4x8xf32>
  %q4 = sinter.reshape %q : (tensor<1x4x16xf32>) -> tensor<1x4x4x4xf32>
  %k4 = sinter.reshape %k : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
  %v4 = sinter.reshape %v : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
  %qr = sinter.rotary %q4, %cos, %sin, %start : (tensor<1x4x4x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<1xi32>) -> tensor<1x4x4x4xf32>
  %kr = sinter.rotary %k4, %cos, %sin, %start : (tensor<1x4x2x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<1xi32>) -> tensor<1x4x2x4xf32>
  %k1 = sinter.cache_append %kc, %kr, %start, %count : (tensor<1x16x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x2x4xf32>
  %v1 = sinter.cache_append %vc, %v4, %start, %count : (tensor<1x16x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x16x2x4xf32>
  %a = sinter.attention %qr, %k1, %v1, %start {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<1x4x4x4xf32>, tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>, tensor<1xi32>) -> tensor<1x4x4x4xf32>
  return %a, %k1, %v1 : tensor<1x4x4x4xf32>, tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>
}

// Queries are read where they are, the result is rounded where it is written.
// CHECK-LABEL: func.func @attention
// CHECK: sinter.fusion attention(%arg0
// CHECK: sinter.slice
// CHECK: sinter.reshape
// CHECK: sinter.attention
// CHECK: sinter.cast
// CHECK: sinter.yield
func.func @attention(%qkv: tensor<1x4x32xf32>, %k: tensor<1x16x2x4xf32>, %v: tensor<1x16x2x4xf32>)
    -> tensor<1x4x4x4xbf16> attributes {sinter.entry} {
  %q = sinter.slice %qkv {offsets = array<i64: 0, 0, 0>} : (tensor<1x4x32xf32>) -> tensor<1x4x16xf32>
  %q4 = sinter.reshape %q : (tensor<1x4x16xf32>) -> tensor<1x4x4x4xf32>
  %a = sinter.attention %q4, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<1x4x4x4xf32>, tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>) -> tensor<1x4x4x4xf32>
  %c = sinter.cast %a : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xbf16>
  return %c : tensor<1x4x4x4xbf16>
}

// Training's attention and its gradients read queries, keys and values inside the merged product;
// the logsumexp is a second result.
// CHECK-LABEL: func.func @attention_grad
// CHECK: %[[A:.*]]:2 = sinter.fusion attention(%arg0 : tensor<1x4x24xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
// CHECK-COUNT-3: sinter.slice
// CHECK: sinter.attention
// CHECK: sinter.yield %{{.*}}, %{{.*}}
// CHECK: %[[G:.*]]:3 = sinter.fusion attention_grad(%arg0, %arg1, %[[A]]#1, %arg2 :
// CHECK-COUNT-3: sinter.slice
// CHECK: sinter.attention_grad
// CHECK: return %[[A]]#0, %[[G]]#0, %[[G]]#1, %[[G]]#2
func.func @attention_grad(%qkv: tensor<1x4x24xf32>, %do: tensor<1x4x8xf32>, %delta: tensor<1x4x2xf32>)
    -> (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>)
    attributes {sinter.entry} {
  %q = sinter.slice %qkv {offsets = array<i64: 0, 0, 0>} : (tensor<1x4x24xf32>) -> tensor<1x4x8xf32>
  %k = sinter.slice %qkv {offsets = array<i64: 0, 0, 8>} : (tensor<1x4x24xf32>) -> tensor<1x4x8xf32>
  %v = sinter.slice %qkv {offsets = array<i64: 0, 0, 16>} : (tensor<1x4x24xf32>) -> tensor<1x4x8xf32>
  %q4 = sinter.reshape %q : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
  %k4 = sinter.reshape %k : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
  %v4 = sinter.reshape %v : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
  %a:2 = sinter.attention %q4, %k4, %v4 {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
  %do4 = sinter.reshape %do : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
  %g:3 = sinter.attention_grad %q4, %k4, %v4, %do4, %a#1, %delta {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = 0.5 : f64}
      : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>)
      -> (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>)
  return %a#0, %g#0, %g#1, %g#2 : tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>
}

// Any pattern: a softmax written by hand, with a constant, is one kernel.
// CHECK-LABEL: func.func @softmax
// CHECK: sinter.fusion rows(%arg0 : tensor<4x8xf32>) -> (tensor<4x8xf32>)
// CHECK-NOT: sinter.fusion
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {sinter.entry} {
  %c = sinter.constant dense<0.125> : tensor<4x8xf32>
  %s = sinter.mul %x, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = sinter.reduce max %s : (tensor<4x8xf32>) -> tensor<4xf32>
  %mb = sinter.broadcast %m {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x8xf32>
  %d = sinter.sub %s, %mb : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = sinter.exp %d : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = sinter.reduce sum %e : (tensor<4x8xf32>) -> tensor<4xf32>
  %tb = sinter.broadcast %t {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x8xf32>
  %y = sinter.div %e, %tb : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @embeddings
// CHECK: sinter.fusion rows(
// CHECK: sinter.positions
// CHECK-COUNT-2: sinter.embedding
// CHECK: sinter.add
// CHECK-NOT: sinter.fusion
func.func @embeddings(%wte: tensor<64x8xf32>, %wpe: tensor<16x8xf32>, %tokens: tensor<2x4xi32>,
                      %start: tensor<2xi32>) -> tensor<2x4x8xf32> attributes {sinter.entry} {
  %p = sinter.positions %start : (tensor<2xi32>) -> tensor<2x4xi32>
  %a = sinter.embedding %wpe, %p : (tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>
  %b = sinter.embedding %wte, %tokens : (tensor<64x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>
  %h = sinter.add %b, %a : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %h : tensor<2x4x8xf32>
}

// CHECK-LABEL: func.func @preprocess
// CHECK: sinter.fusion pack(%arg0, %arg1
// CHECK: sinter.concat
// CHECK: sinter.pack
func.func @preprocess(%a: tensor<16x8xbf16>, %b: tensor<32x8xf32>) -> tensor<8x32xf32, #panels>
    attributes {sinter.entry} {
  %0 = sinter.cast %a : (tensor<16x8xbf16>) -> tensor<16x8xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %2 = sinter.slice %b {offsets = array<i64: 16, 0>} : (tensor<32x8xf32>) -> tensor<16x8xf32>
  %3 = sinter.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %4 = sinter.concat %1, %3 {dim = 1 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x32xf32>
  %5 = sinter.pack %4 : (tensor<8x32xf32>) -> tensor<8x32xf32, #panels>
  return %5 : tensor<8x32xf32, #panels>
}

// The sum needs the product, which needs the exponentials: they cannot share a kernel.
// CHECK-LABEL: func.func @cycle
// CHECK: sinter.exp
// CHECK: sinter.matmul
// CHECK: sinter.fusion rows(
// CHECK-NEXT: ^bb0
// CHECK-NEXT: sinter.rms_norm
// CHECK-NEXT: sinter.add
func.func @cycle(%x: tensor<4x8xf32>, %w: tensor<8x8xf32, #panels>, %n: tensor<8xf32>)
    -> tensor<4x8xf32> attributes {sinter.entry} {
  %0 = sinter.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.matmul %0, %w : (tensor<4x8xf32>, tensor<8x8xf32, #panels>) -> tensor<4x8xf32>
  %2 = sinter.rms_norm %1, %n {eps = 1.0e-5} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = sinter.add %2, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// Rows that are used on and sums of them: one pass over what they are made of. What is computed
// from sums is another kernel.
// CHECK-LABEL: func.func @sums_beside_rows
// CHECK: %[[F:.*]]:2 = sinter.fusion rows(
// CHECK: sinter.relu
// CHECK: sinter.column_sum
// CHECK: sinter.yield
// CHECK: sinter.column_sum %[[F]]#
func.func @sums_beside_rows(%x: tensor<4x16x768xf32>, %g: tensor<4x16x768xf32>)
    -> (tensor<4x16x768xf32>, tensor<768xf32>) attributes {sinter.entry} {
  %0 = sinter.relu %x : (tensor<4x16x768xf32>) -> tensor<4x16x768xf32>
  %1 = sinter.mul %0, %g : (tensor<4x16x768xf32>, tensor<4x16x768xf32>) -> tensor<4x16x768xf32>
  %2 = sinter.reshape %1 : (tensor<4x16x768xf32>) -> tensor<8x8x768xf32>
  %3 = sinter.column_sum %2 : (tensor<8x8x768xf32>) -> tensor<8x768xf32>
  %4 = sinter.column_sum %3 : (tensor<8x768xf32>) -> tensor<768xf32>
  return %1, %4 : tensor<4x16x768xf32>, tensor<768xf32>
}

// What ranks have of a sum is added by the kernel that uses it.
// CHECK-LABEL: func.func @sum_of_parts
// CHECK: sinter.fusion rows(
// CHECK: %[[SUM:.*]] = sinter.sum_parts
// CHECK: sinter.mul %[[SUM]]
// CHECK: sinter.add
// CHECK: sinter.yield
// CHECK-NOT: sinter.sum_parts
func.func @sum_of_parts(%x: tensor<8x512x768xf32>, %s: tensor<512x768xf32>, %w: tensor<512x768xf32>)
    -> tensor<512x768xf32> attributes {sinter.entry} {
  %0 = sinter.sum_parts %x : (tensor<8x512x768xf32>) -> tensor<512x768xf32>
  %1 = sinter.mul %0, %s : (tensor<512x768xf32>, tensor<512x768xf32>) -> tensor<512x768xf32>
  %2 = sinter.add %w, %1 : (tensor<512x768xf32>, tensor<512x768xf32>) -> tensor<512x768xf32>
  return %2 : tensor<512x768xf32>
}

// The gradient of a norm and of the residual beside it; the partial sums leave the kernel.
// CHECK-LABEL: func.func @norm_grad
// CHECK: sinter.fusion rows(
// CHECK: sinter.layer_norm_grad
// CHECK: sinter.add
// CHECK: sinter.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<
func.func @norm_grad(%x: tensor<4x16x768xf32>, %w: tensor<768xf32>, %g: tensor<4x16x768xf32>,
                     %r: tensor<4x16x768xf32>)
    -> (tensor<4x16x768xf32>, tensor<16x768xf32>, tensor<16x768xf32>) attributes {sinter.entry} {
  %0:3 = sinter.layer_norm_grad %x, %w, %g {eps = 1.0e-5} : (tensor<4x16x768xf32>, tensor<768xf32>, tensor<4x16x768xf32>) -> (tensor<4x16x768xf32>, tensor<16x768xf32>, tensor<16x768xf32>)
  %1 = sinter.add %0#0, %r : (tensor<4x16x768xf32>, tensor<4x16x768xf32>) -> tensor<4x16x768xf32>
  return %1, %0#1, %0#2 : tensor<4x16x768xf32>, tensor<16x768xf32>, tensor<16x768xf32>
}

// Gradients: a matrix is packed as it is under another shape, a product is added to what is there,
// and a product has two results where both are needed.
// CHECK-LABEL: func.func @gradient
// CHECK: sinter.fusion pack(%arg1 : tensor<2x32x64xf32>)
// CHECK: sinter.reshape
// CHECK: sinter.cast
// CHECK: sinter.pack
// CHECK: sinter.fusion gemm(
// CHECK: sinter.matmul {{.*}} {transpose_lhs}
// CHECK: sinter.add
// CHECK-NOT: sinter.fusion
#pairs = #sinter.panels<width = 64, interleave = 2, depth = 32>
func.func @gradient(%x: tensor<64x8xbf16, #pairs>, %g: tensor<2x32x64xf32>, %old: tensor<8x64xf32>)
    -> tensor<8x64xf32> attributes {sinter.entry} {
  %0 = sinter.reshape %g : (tensor<2x32x64xf32>) -> tensor<64x64xf32>
  %1 = sinter.cast %0 : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %2 = sinter.pack %1 : (tensor<64x64xbf16>) -> tensor<64x64xbf16, #pairs>
  %3 = sinter.matmul %x, %2 {transpose_lhs} : (tensor<64x8xbf16, #pairs>, tensor<64x64xbf16, #pairs>) -> tensor<8x64xf32>
  %4 = sinter.add %old, %3 : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %4 : tensor<8x64xf32>
}

// CHECK-LABEL: func.func @activation
// CHECK: sinter.fusion gemm(%arg0, %arg1 : {{.*}}) -> (tensor<4x64xf32>, tensor<4x64xbf16>)
// CHECK-NOT: sinter.fusion
func.func @activation(%x: tensor<4x8xf32>, %w: tensor<8x64xf32, #panels>)
    -> (tensor<4x64xf32>, tensor<4x64xbf16>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w : (tensor<4x8xf32>, tensor<8x64xf32, #panels>) -> tensor<4x64xf32>
  %1 = sinter.gelu %0 {tanh} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %2 = sinter.cast %1 : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  return %0, %2 : tensor<4x64xf32>, tensor<4x64xbf16>
}
