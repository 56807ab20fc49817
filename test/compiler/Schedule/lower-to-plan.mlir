// RUN: sinter-opt %s --sinter-lower-to-plan --sinter-verify-schedule | FileCheck %s

!cache = tensor<1x4x1x8xf32>
!rows = tensor<1x1x1x8xf32>
!slots = tensor<1xi32>
!panels = tensor<8x24xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>

// Equal constants of two programs are one; each starts on a line of 64 bytes.
// CHECK: plan.constant 0 dense<[1.000000e+00, 2.000000e+00
// CHECK: plan.constant 128 dense<[2.000000e+00
// CHECK-NOT: plan.constant
// CHECK-NOT: func.func

func.func private @append(%c: !cache, %r: !rows, %s: !slots, %n: !slots) -> !cache
    attributes {sinter.kernel = "rows", sinter.grid = 1 : i64} {
  %0 = sinter.cache_append %c, %r, %s, %n : (!cache, !rows, !slots, !slots) -> !cache
  return %0 : !cache
}
func.func private @norm(%x: tensor<1x8xf32>, %w: tensor<8xf32>) -> tensor<1x8xf32>
    attributes {sinter.kernel = "rows", sinter.grid = 1 : i64} {
  %0 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (tensor<1x8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
  %1 = sinter.relu %0 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return %1 : tensor<1x8xf32>
}
func.func private @add(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32>
    attributes {sinter.kernel = "rows", sinter.grid = 1 : i64} {
  %0 = sinter.add %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: plan.program @preprocess
func.func @preprocess(%w: tensor<8xf32> {sinter.parameter = "norm.weight"},
    %q: tensor<16x8xf32> {sinter.parameter = "q.weight"}, %k: tensor<8x16xf32> {sinter.parameter = "k.weight"})
    -> (tensor<8xf32> {sinter.preprocessed = "p0"}, !panels {sinter.preprocessed = "p1"})
    attributes {sinter.entry} {
  // CHECK-DAG: %[[W:.*]] = plan.slice checkpoint[0, 32] "norm.weight" : tensor<8xf32>
  // CHECK-DAG: %[[Q:.*]] = plan.slice checkpoint[0, 512] "q.weight"
  // CHECK-DAG: %[[P0:.*]] = plan.slice parameter[0, 32] "p0"
  // CHECK-DAG: %[[P1:.*]] = plan.slice parameter[64, 4096] "p1"
  // The right half of "k.weight" is a slice of its own.
  // CHECK: %[[HALF:.*]] = plan.slice checkpoint[32, 480] "k.weight"
  // CHECK: plan.pack(%[[Q]], %[[HALF]]) -> (%[[P1]])
  // CHECK-SAME: dtype = f32, interleave = 1 : i64, k = 8 : i64, label = "pack", n = 24 : i64
  // CHECK-SAME: source_layouts = [#plan.pack_source<dtype = f32, n = 16, stride = 8, transposed = true>, #plan.pack_source<dtype = f32, n = 8, stride = 16, transposed = false>]
  // CHECK: plan.copy(%[[W]]) -> (%[[P0]])
  %0 = sinter.fusion pack(%q, %k : tensor<16x8xf32>, tensor<8x16xf32>) -> (!panels) {
  ^bb0(%a: tensor<16x8xf32>, %b: tensor<8x16xf32>):
    %1 = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %2 = sinter.slice %b {offsets = array<i64: 0, 8>} : (tensor<8x16xf32>) -> tensor<8x8xf32>
    %3 = sinter.concat %1, %2 {dim = 1 : i64} : (tensor<8x16xf32>, tensor<8x8xf32>) -> tensor<8x24xf32>
    %4 = sinter.pack %3 : (tensor<8x24xf32>) -> !panels
    sinter.yield %4 : !panels
  }
  return %w, %0 : tensor<8xf32>, !panels
}

// CHECK-LABEL: plan.program @decode
func.func @decode(%x: tensor<1x8xf32> {sinter.input = "x"}, %s: !slots {sinter.input = "start"},
    %n: !slots {sinter.input = "count"}, %w: tensor<8xf32> {sinter.preprocessed = "p0"},
    %p: tensor<8x24xf32> {sinter.input = "head"},
    %c: !cache {sinter.state = "v_cache.0", sinter.donated = 1 : i64})
    -> (tensor<24xf32> {sinter.output = "logits"}, !cache {sinter.state = "v_cache.0"})
    attributes {sinter.entry} {
  // CHECK: %[[X:.*]] = plan.slice input[0, 32] "x"
  // CHECK: %[[START:.*]] = plan.slice input[64, 4] "start"
  // CHECK: %[[COUNT:.*]] = plan.slice input[128, 4] "count"
  // CHECK: %[[DW:.*]] = plan.slice parameter[0, 32] "p0"
  // CHECK: %[[DP:.*]] = plan.slice input[192, 768] "head"
  // CHECK: %[[CACHE:.*]] = plan.slice state[0, 128] "v_cache.0"
  // CHECK: %[[LOGITS:.*]] = plan.slice output[0, 96] "logits"
  // CHECK: %[[BIAS:.*]] = plan.slice constant[0, 96]
  %bias = sinter.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<24xf32>
  // CHECK: %[[H:.*]] = plan.alloc 32
  // CHECK: plan.launch @norm grid 1(%[[X]], %[[DW]]) -> (%[[H]])
  // CHECK-SAME: bytes = 96 : i64
  // CHECK-SAME: label = "rms_norm+relu", layer = "model.layers.3"
  %h = sinter.call_kernel @norm(%x, %w) : (tensor<1x8xf32>, tensor<8xf32>) -> tensor<1x8xf32> loc("model.layers.3.input_layernorm")
  %rows = sinter.reshape %h : (tensor<1x8xf32>) -> !rows
  // The cache is updated where it is.
  // CHECK: plan.launch @append grid 1(%[[CACHE]], %[[H]], %[[START]], %[[COUNT]]) -> (%[[CACHE]])
  %new = sinter.call_kernel @append(%c, %rows, %s, %n) : (!cache, !rows, !slots, !slots) -> !cache
  // The logits are computed where they are wanted.
  // CHECK: plan.gemm(%[[H]], %[[DP]], %[[BIAS]]) workspace(%{{.*}}) -> (%[[LOGITS]])
  // CHECK-SAME: k = 8 : i64, label = "matmul+add+relu", layer = "lm_head", lhs_stride = 8 : i64, m = 1 : i64, n = 24 : i64, out_dtype = f32, out_stride = 24 : i64
  // CHECK-SAME: post_ops = [#plan.post_op<bias, f32, 0>, #plan.post_op<relu, f32, 0>], {{.*}}rhs_stride = 24 : i64
  %y = sinter.fusion library_gemm(%h, %p, %bias : tensor<1x8xf32>, tensor<8x24xf32>, tensor<24xf32>) -> (tensor<1x24xf32>) {
  ^bb0(%a: tensor<1x8xf32>, %b: tensor<8x24xf32>, %v: tensor<24xf32>):
    %0 = sinter.matmul %a, %b : (tensor<1x8xf32>, tensor<8x24xf32>) -> tensor<1x24xf32>
    %1 = sinter.broadcast %v {dims = array<i64: 1>} : (tensor<24xf32>) -> tensor<1x24xf32>
    %2 = sinter.add %0, %1 : (tensor<1x24xf32>, tensor<1x24xf32>) -> tensor<1x24xf32>
    %3 = sinter.relu %2 : (tensor<1x24xf32>) -> tensor<1x24xf32>
    sinter.yield %3 : tensor<1x24xf32>
  } loc("lm_head")
  %logits = sinter.reshape %y : (tensor<1x24xf32>) -> tensor<24xf32>
  return %logits, %new : tensor<24xf32>, !cache
}

// CHECK-LABEL: plan.program @results
func.func @results(%x: tensor<8xf32> {sinter.input = "x"},
    %a: tensor<8xf32> {sinter.state = "a", sinter.donated = 1 : i64},
    %b: tensor<8xf32> {sinter.state = "b", sinter.donated = 0 : i64},
    %c: tensor<8xf32> {sinter.state = "c", sinter.donated = 2 : i64})
    -> (tensor<8xf32> {sinter.state = "b"}, tensor<8xf32> {sinter.state = "a"},
        tensor<8xf32> {sinter.state = "c"}, tensor<8xf32> {sinter.output = "y"},
        tensor<8xf32> {sinter.output = "z"}) attributes {sinter.entry} {
  // CHECK: %[[RX:.*]] = plan.slice input[0, 32] "x"
  // CHECK: %[[A:.*]] = plan.slice state[128, 32] "a"
  // CHECK: %[[B:.*]] = plan.slice state[192, 32] "b"
  // CHECK: %[[C:.*]] = plan.slice state[256, 32] "c"
  // CHECK: %[[Y:.*]] = plan.slice output[0, 32] "y"
  // CHECK: %[[Z:.*]] = plan.slice output[64, 32] "z"
  // CHECK: %[[K:.*]] = plan.slice constant[128, 32]
  %k = sinter.constant dense<[2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  // The command reads each element of the old state where it writes one of the new.
  // CHECK: plan.launch @add grid 1(%[[C]], %[[K]]) -> (%[[C]])
  // CHECK-SAME: reusable = array<i64: 0, 1>
  %new = sinter.call_kernel @add(%c, %k) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // CHECK: plan.launch @add grid 1(%[[C]], %[[RX]]) -> (%[[Y]])
  %y = sinter.call_kernel @add(%new, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // States that change places go through memory put aside; a value returned twice is copied.
  // CHECK: plan.copy(%[[Y]]) -> (%[[Z]])
  // CHECK: %[[ASIDE:.*]] = plan.alloc 32
  // CHECK: plan.copy(%[[A]]) -> (%[[ASIDE]])
  // CHECK: plan.copy(%[[B]]) -> (%[[A]])
  // CHECK: plan.copy(%[[ASIDE]]) -> (%[[B]])
  return %a, %b, %new, %y, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// A product is added to a state where it is; a state that the same command needs once more, other
// than element by element, has to be copied.
func.func private @accumulate(%x: tensor<16x1xf32>, %w: tensor<16x8xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>, %old: tensor<1x8xf32>)
    -> tensor<1x8xf32> attributes {sinter.kernel = "gemm", sinter.grid = 1 : i64} {
  %0 = sinter.matmul %x, %w {transpose_lhs} : (tensor<16x1xf32>, tensor<16x8xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>) -> tensor<1x8xf32>
  %1 = sinter.add %old, %0 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  return %1 : tensor<1x8xf32>
}
func.func private @spread(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32>
    attributes {sinter.kernel = "rows", sinter.grid = 1 : i64} {
  %0 = sinter.broadcast %x {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sinter.add %0, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
// CHECK-LABEL: plan.program @updates
func.func @updates(%x: tensor<16x1xf32> {sinter.input = "x"}, %w: tensor<16x8xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>> {sinter.input = "w"},
    %a: tensor<1x8xf32> {sinter.state = "d", sinter.donated = 0 : i64},
    %c: tensor<8xf32> {sinter.state = "c", sinter.donated = 1 : i64})
    -> (tensor<1x8xf32> {sinter.state = "d"}, tensor<8xf32> {sinter.state = "c"}) attributes {sinter.entry} {
  // CHECK: %[[D:.*]] = plan.slice {{.*}} "d"
  // CHECK: %[[C:.*]] = plan.slice {{.*}} "c"
  // CHECK: plan.launch @accumulate grid 1({{.*}}, %[[D]]) -> (%[[D]])
  // CHECK-SAME: reusable = array<i64: 2>
  %0 = sinter.call_kernel @accumulate(%x, %w, %a) : (tensor<16x1xf32>, tensor<16x8xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>, tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: %[[SUM:.*]] = plan.alloc 32
  // CHECK: plan.launch @spread grid 1(%[[C]], %[[C]]) -> (%[[SUM]])
  // CHECK-SAME: reusable = array<i64: 1>
  %1 = sinter.call_kernel @spread(%c, %c) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NEXT: plan.copy(%[[SUM]]) -> (%[[C]])
  return %0, %1 : tensor<1x8xf32>, tensor<8xf32>
}

// A new state that needs the old one no longer is computed in its place.
// CHECK-LABEL: plan.program @replace
func.func @replace(%x: tensor<8xf32> {sinter.input = "x"},
    %c: tensor<8xf32> {sinter.state = "c", sinter.donated = 0 : i64})
    -> (tensor<8xf32> {sinter.state = "c"}) attributes {sinter.entry} {
  %k = sinter.constant dense<[2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  // CHECK: plan.launch @add grid 1({{.*}}) -> (%[[HALF:.*]])
  // CHECK: %[[COPY:.*]] = plan.alloc 32
  // CHECK: plan.copy(%[[HALF]]) -> (%[[COPY]])
  // CHECK: plan.launch @add grid 1(%[[COPY]], {{.*}}) -> (%[[STATE:.*]])
  // CHECK-NOT: plan.copy
  %half = sinter.call_kernel @add(%c, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %copy = sinter.copy %half : (tensor<8xf32>) -> tensor<8xf32>
  %new = sinter.call_kernel @add(%copy, %k) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %new : tensor<8xf32>
}
