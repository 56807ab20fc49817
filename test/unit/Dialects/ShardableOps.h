//===- ShardableOps.h - Every op that may be split --------------*- C++ -*-===//
#pragma once

namespace sinter::test {

/// Functions with every op that has a LoopNest, in each of its forms.
inline constexpr const char *kOps = R"(
!m = tensor<4x6xf64>
!v = tensor<6xf64>
!r = tensor<4xf64>
!s = tensor<f64>
!ids = tensor<4xi32>
func.func @elementwise(%x: !m, %y: !m) -> !m {
  %0 = sinter.add %x, %y : (!m, !m) -> !m
  %1 = sinter.where_finite %0, %x, %y : (!m, !m, !m) -> !m
  %2 = sinter.silu %1 : (!m) -> !m
  return %2 : !m
}
func.func @products(%x: tensor<2x4x6xf64>, %w: tensor<6x8xf64>, %wt: tensor<8x6xf64>, %a: tensor<4x6xf64>,
                    %b: tensor<4x8xf64>, %bt: tensor<8x4xf64>) {
  %0 = sinter.matmul %x, %w : (tensor<2x4x6xf64>, tensor<6x8xf64>) -> tensor<2x4x8xf64>
  %1 = sinter.matmul %x, %wt {transpose_rhs} : (tensor<2x4x6xf64>, tensor<8x6xf64>) -> tensor<2x4x8xf64>
  %2 = sinter.matmul %a, %b {transpose_lhs} : (tensor<4x6xf64>, tensor<4x8xf64>) -> tensor<6x8xf64>
  %3 = sinter.matmul %a, %bt {transpose_lhs, transpose_rhs} : (tensor<4x6xf64>, tensor<8x4xf64>) -> tensor<6x8xf64>
  return
}
func.func @rows(%x: !m, %w: !v, %g: !m, %ids: !ids, %dl: !r, %x3: tensor<4x2x6xf64>, %x3w: tensor<6x10xf64>) {
  %0 = sinter.reduce sum %x : (!m) -> !r
  %1 = sinter.reduce max %x : (!m) -> !r
  %2 = sinter.reduce mean %x : (!m) -> !r
  %3 = sinter.column_sum %x : (!m) -> !v
  %15 = sinter.sum_parts %x3 : (tensor<4x2x6xf64>) -> tensor<2x6xf64>
  %4 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (!m, !v) -> !m
  %5 = sinter.layer_norm %x, %w, %w {eps = 1.0e-5} : (!m, !v, !v) -> !m
  %6 = sinter.layer_norm %x, %w {eps = 1.0e-5} : (!m, !v) -> !m
  %7 = sinter.cross_entropy %x, %ids : (!m, !ids) -> !r
  %8 = sinter.cross_entropy_grad %x, %ids, %dl : (!m, !ids, !r) -> !m
  %9:2 = sinter.rms_norm_grad %x3, %w, %x3 {eps = 1.0e-5} : (tensor<4x2x6xf64>, !v, tensor<4x2x6xf64>) -> (tensor<4x2x6xf64>, tensor<2x6xf64>)
  %10:3 = sinter.layer_norm_grad %x, %w, %g {eps = 1.0e-5} : (!m, !v, !m) -> (!m, tensor<2x6xf64>, tensor<2x6xf64>)
  %11:2 = sinter.rms_norm_grad %w, %w, %w {eps = 1.0e-5} : (!v, !v, !v) -> (!v, tensor<1x6xf64>)
  %13 = sinter.reshape %x : (!m) -> tensor<1x4x6xf64>
  %14:2 = sinter.rms_norm_grad %13, %w, %13 {eps = 1.0e-5} : (tensor<1x4x6xf64>, !v, tensor<1x4x6xf64>) -> (tensor<1x4x6xf64>, tensor<4x6xf64>)
  %12 = sinter.linear_cross_entropy %x, %x3w, %ids {chunk = 3 : i64} : (!m, tensor<6x10xf64>, !ids) -> !r
  return
}
func.func @attention(%q: tensor<2x3x8x4xf64>, %k: tensor<2x5x4x4xf64>, %v: tensor<2x5x4x4xf64>, %start: tensor<2xi32>,
                     %first: tensor<2x3xi32>, %slopes: tensor<8xf64>, %lse: tensor<2x3x8xf64>, %seed: tensor<2xi32>,
                     %cos: tensor<9x2xf64>, %rows: tensor<2x3x4x4xf64>,
                     %long: tensor<1x8x2x4xf64>, %later: tensor<1xi32>,
                     %values: tensor<2x3x8x8xf64>, %state: tensor<2x8x4x8xf64>) {
  %0:2 = sinter.attention %q, %k, %v, %start, %first, %slopes {scale = 0.5, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<2x3x8x4xf64>, tensor<2x5x4x4xf64>, tensor<2x5x4x4xf64>, tensor<2xi32>, tensor<2x3xi32>, tensor<8xf64>) -> (tensor<2x3x8x4xf64>, tensor<2x3x8xf64>)
  %1 = sinter.attention %q, %k, %v, %seed {scale = 0.5, dropout = 0.5, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0, 0>} : (tensor<2x3x8x4xf64>, tensor<2x5x4x4xf64>, tensor<2x5x4x4xf64>, tensor<2xi32>) -> tensor<2x3x8x4xf64>
  %2:3 = sinter.attention_grad %q, %k, %v, %q, %lse, %lse, %slopes {scale = 0.5, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 1, 0>} : (tensor<2x3x8x4xf64>, tensor<2x5x4x4xf64>, tensor<2x5x4x4xf64>, tensor<2x3x8x4xf64>, tensor<2x3x8xf64>, tensor<2x3x8xf64>, tensor<8xf64>) -> (tensor<2x3x8x4xf64>, tensor<2x5x4x4xf64>, tensor<2x5x4x4xf64>)
  %5:3 = sinter.attention_grad %q, %k, %v, %q, %lse, %lse, %seed {scale = 0.5, dropout = 0.5, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 1>} : (tensor<2x3x8x4xf64>, tensor<2x5x4x4xf64>, tensor<2x5x4x4xf64>, tensor<2x3x8x4xf64>, tensor<2x3x8xf64>, tensor<2x3x8xf64>, tensor<2xi32>) -> (tensor<2x3x8x4xf64>, tensor<2x5x4x4xf64>, tensor<2x5x4x4xf64>)
  %6 = sinter.rotary %long, %cos, %cos : (tensor<1x8x2x4xf64>, tensor<9x2xf64>, tensor<9x2xf64>) -> tensor<1x8x2x4xf64>
  %7 = sinter.attention %long, %long, %long, %seed {scale = 0.5, causal, window = 3 : i64, dropout = 0.5, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0, 0>} : (tensor<1x8x2x4xf64>, tensor<1x8x2x4xf64>, tensor<1x8x2x4xf64>, tensor<2xi32>) -> tensor<1x8x2x4xf64>
  %8 = sinter.attention %long, %long, %long, %later {scale = 0.5, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<1x8x2x4xf64>, tensor<1x8x2x4xf64>, tensor<1x8x2x4xf64>, tensor<1xi32>) -> tensor<1x8x2x4xf64>
  %9 = sinter.rotary %long, %cos, %cos, %later : (tensor<1x8x2x4xf64>, tensor<9x2xf64>, tensor<9x2xf64>, tensor<1xi32>) -> tensor<1x8x2x4xf64>
  %3 = sinter.rotary %q, %cos, %cos, %start : (tensor<2x3x8x4xf64>, tensor<9x2xf64>, tensor<9x2xf64>, tensor<2xi32>) -> tensor<2x3x8x4xf64>
  %10:2 = sinter.linear_attention %rows, %rows, %values, %lse, %lse, %state, %start, %start {scale = 0.5, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1>} : (tensor<2x3x4x4xf64>, tensor<2x3x4x4xf64>, tensor<2x3x8x8xf64>, tensor<2x3x8xf64>, tensor<2x3x8xf64>, tensor<2x8x4x8xf64>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2x3x8x8xf64>, tensor<2x8x4x8xf64>)
  %11 = sinter.linear_attention %rows, %rows, %values, %lse, %lse {scale = 0.5, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<2x3x4x4xf64>, tensor<2x3x4x4xf64>, tensor<2x3x8x8xf64>, tensor<2x3x8xf64>, tensor<2x3x8xf64>) -> tensor<2x3x8x8xf64>
  %4 = sinter.cache_append %k, %rows, %start, %start : (tensor<2x5x4x4xf64>, tensor<2x3x4x4xf64>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x5x4x4xf64>
  return
}
func.func @moves(%x: !m, %r: tensor<2x4x12xf64>, %h: tensor<2x4x4x3xf64>, %start: tensor<2xi32>, %ids: tensor<4x2xi32>,
                 %into: tensor<4x6xf64>, %g: tensor<4x2x6xf64>, %p: tensor<4x2x6xf64>, %seed: tensor<2xi32>,
                 %one: tensor<1xi32>) {
  %0 = sinter.constant dense<1.0> : !m
  %1 = sinter.broadcast %x {dims = array<i64: 0, 2>} : (!m) -> tensor<4x2x6xf64>
  %2 = sinter.reshape %r : (tensor<2x4x12xf64>) -> tensor<2x4x4x3xf64>
  %3 = sinter.reshape %h : (tensor<2x4x4x3xf64>) -> tensor<8x12xf64>
  %4 = sinter.reshape %x : (!m) -> tensor<4x6x1xf64>
  %5 = sinter.transpose %h {permutation = array<i64: 2, 0, 3, 1>} : (tensor<2x4x4x3xf64>) -> tensor<4x2x3x4xf64>
  %6 = sinter.slice %x {offsets = array<i64: 0, 2>} : (!m) -> tensor<4x4xf64>
  %7 = sinter.concat %x, %x {dim = 1 : i64} : (!m, !m) -> tensor<4x12xf64>
  %8 = sinter.copy %x : (!m) -> !m
  %9 = sinter.positions %start : (tensor<2xi32>) -> tensor<2x3xi32>
  %10 = sinter.one_hot %ids : (tensor<4x2xi32>) -> tensor<4x2x6xf64>
  %11 = sinter.pick %p, %ids : (tensor<4x2x6xf64>, tensor<4x2xi32>) -> tensor<4x2xf64>
  %12 = sinter.embedding %x, %ids : (!m, tensor<4x2xi32>) -> tensor<4x2x6xf64>
  %13 = sinter.last_row %r, %start : (tensor<2x4x12xf64>, tensor<2xi32>) -> tensor<2x12xf64>
  %14 = sinter.embedding_grad %ids, %g {rows = 4 : i64} : (tensor<4x2xi32>, tensor<4x2x6xf64>) -> tensor<4x6xf64>
  %15 = sinter.embedding_grad %ids, %g, %into {rows = 4 : i64} : (tensor<4x2xi32>, tensor<4x2x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  %16 = sinter.dropout %x, %seed {probability = 0.5, stream = 3 : i64} : (!m, tensor<2xi32>) -> !m
  %17 = sinter.cast %x : (!m) -> tensor<4x6xf32>
  %18 = sinter.stochastic_round %17, %seed, %seed : (tensor<4x6xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x6xbf16>
  %19 = sinter.shard %x {sharding = #sinter.sharding<[[], []]>} : (!m) -> !m
  %20 = sinter.embedding %x, %ids {transpose_table} : (!m, tensor<4x2xi32>) -> tensor<4x2x4xf64>
  %21 = sinter.embedding %x, %ids, %one : (!m, tensor<4x2xi32>, tensor<1xi32>) -> tensor<4x2x6xf64>
  %22 = sinter.embedding_grad %ids, %g, %into from %one {rows = 4 : i64} : (tensor<4x2xi32>, tensor<4x2x6xf64>, tensor<4x6xf64>, tensor<1xi32>) -> tensor<4x6xf64>
  return
}
func.func @experts(%x: !m, %tokens: tensor<8xi32>, %ids: tensor<4x2xi32>, %p: tensor<4x2xf64>, %y: tensor<8x6xf64>,
                   %w: tensor<4x6x10xf64>, %wt: tensor<4x10x6xf64>, %o: tensor<5xi32>, %z: tensor<8x10xf64>,
                   %qt: tensor<4x10x6xi8>, %sg: tensor<4x10x2xf64>) {
  %0:2 = sinter.top_k %x : (!m) -> (tensor<4x2xf64>, tensor<4x2xi32>)
  %1:4 = sinter.route %ids : (tensor<4x2xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<4x2xi32>, tensor<5xi32>)
  %2 = sinter.dispatch %x, %tokens, %ids : (!m, tensor<8xi32>, tensor<4x2xi32>) -> tensor<8x6xf64>
  %3 = sinter.combine %y, %ids, %tokens, %tokens, %p : (tensor<8x6xf64>, tensor<4x2xi32>, tensor<8xi32>, tensor<8xi32>, tensor<4x2xf64>) -> !m
  %4 = sinter.combine %y, %ids, %tokens, %tokens : (tensor<8x6xf64>, tensor<4x2xi32>, tensor<8xi32>, tensor<8xi32>) -> !m
  %5 = sinter.grouped_matmul %y, %w, %o : (tensor<8x6xf64>, tensor<4x6x10xf64>, tensor<5xi32>) -> tensor<8x10xf64>
  %6 = sinter.grouped_matmul %y, %wt, %o {transpose_rhs} : (tensor<8x6xf64>, tensor<4x10x6xf64>, tensor<5xi32>) -> tensor<8x10xf64>
  %8 = sinter.grouped_matmul %y, %qt, %o scales %sg minima %sg {transpose_rhs} : (tensor<8x6xf64>, tensor<4x10x6xi8>, tensor<5xi32>, tensor<4x10x2xf64>, tensor<4x10x2xf64>) -> tensor<8x10xf64>
  %7 = sinter.grouped_outer %y, %z, %o : (tensor<8x6xf64>, tensor<8x10xf64>, tensor<5xi32>) -> tensor<4x6x10xf64>
  return
}
func.func @draws(%l: tensor<4x6xf32>, %f: tensor<4xf32>, %i: tensor<4xi32>, %s: tensor<4x2xi32>) {
  %0 = sinter.sample %l, %f, %i, %f, %f, %s, %i, %i : (tensor<4x6xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>, tensor<4x2xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return
}
func.func @updates(%p: !m, %s: !s, %r: !r, %w: tensor<4x6xf32>, %n: tensor<4x6xbf16>, %f: tensor<f32>, %seed: tensor<2xi32>) {
  %0:4 = sinter.adamw %p, %p, %p, %p, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1} : (!m, !m, !m, !m, !s, !s, !s, !s) -> (!m, !m, !m, !m)
  %1:2 = sinter.sgd %p, %p, %s, %s, %p {momentum = 0.9, nesterov, resultSegmentSizes = array<i32: 1, 1, 0>, weight_decay = 0.1} : (!m, !m, !s, !s, !m) -> (!m, !m)
  %4:3 = sinter.adamw %w, %w, %n, %n, %f, %f, %f, %f, %seed, %seed {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xbf16>, tensor<4x6xbf16>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4x6xf32>, tensor<4x6xbf16>, tensor<4x6xbf16>)
  %2 = sinter.square_sum %p : (!m) -> !r
  %3 = sinter.square_sum %p, %r : (!m, !r) -> !r
  %5:2 = sinter.carry %p, %p : (!m, !m) -> (!m, !m)
  return
}
func.func @integers(%x: tensor<4x6xf32>, %q: tensor<4x6xi8>, %w: tensor<8x6xi8>, %s: tensor<8x2xf32>,
                    %c: tensor<8x1xf32>, %r: tensor<4x1xf32>, %b: tensor<6x8xi8>, %bs: tensor<2x4xf32>,
                    %one: tensor<1x1xf32>, %ids: tensor<4x2xi32>, %parts: tensor<3x4x6xi8>) {
  %0:2 = sinter.quantize %x : (tensor<4x6xf32>) -> (tensor<4x6xi8>, tensor<4x1xf32>)
  %1 = sinter.matmul %x, %w, %s minima %s {transpose_rhs}
    : (tensor<4x6xf32>, tensor<8x6xi8>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<4x8xf32>
  %2 = sinter.matmul %q, %w, %c rows %r {transpose_rhs}
    : (tensor<4x6xi8>, tensor<8x6xi8>, tensor<8x1xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %3 = sinter.matmul %x, %b, %bs : (tensor<4x6xf32>, tensor<6x8xi8>, tensor<2x4xf32>) -> tensor<4x8xf32>
  %4 = sinter.matmul %x, %b, %one : (tensor<4x6xf32>, tensor<6x8xi8>, tensor<1x1xf32>) -> tensor<4x8xf32>
  %5 = sinter.embedding %w, %ids : (tensor<8x6xi8>, tensor<4x2xi32>) -> tensor<4x2x6xi8>
  %6 = sinter.sum_parts %parts : (tensor<3x4x6xi8>) -> tensor<4x6xi8>
  return
}
func.func @scaled(%x: tensor<4x6xf8E4M3FN>, %w: tensor<8x6xf8E4M3FN>, %g: tensor<4x8xf8E5M2>,
                  %rows: tensor<2x4x6xf8E4M3FN>, %s: tensor<1x1xf32>, %r: tensor<1x1x1xf32>) {
  %0 = sinter.matmul %rows, %w, %s rows %r {transpose_rhs}
    : (tensor<2x4x6xf8E4M3FN>, tensor<8x6xf8E4M3FN>, tensor<1x1xf32>, tensor<1x1x1xf32>) -> tensor<2x4x8xf32>
  %1 = sinter.matmul %g, %w, %s rows %s
    : (tensor<4x8xf8E5M2>, tensor<8x6xf8E4M3FN>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<4x6xf32>
  %2 = sinter.matmul %g, %x, %s rows %s {transpose_lhs}
    : (tensor<4x8xf8E5M2>, tensor<4x6xf8E4M3FN>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<8x6xf32>
  return
}
func.func @bytes(%q: tensor<2x3x8x4xf32>, %k: tensor<2x5x4x4xi8>, %s: tensor<2x5x4x1xf32>, %rows: tensor<2x3x4x4xi8>,
                 %start: tensor<2xi32>) {
  %0 = sinter.attention %q, %k, %k, %start, %s, %s {scale = 0.5, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1, 1>}
    : (tensor<2x3x8x4xf32>, tensor<2x5x4x4xi8>, tensor<2x5x4x4xi8>, tensor<2xi32>, tensor<2x5x4x1xf32>, tensor<2x5x4x1xf32>) -> tensor<2x3x8x4xf32>
  %1 = sinter.cache_append %k, %rows, %start, %start
    : (tensor<2x5x4x4xi8>, tensor<2x3x4x4xi8>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x5x4x4xi8>
  return
}
func.func @linear(%q: tensor<2x3x4x4xf64>, %v: tensor<2x3x8x8xf64>, %d: tensor<2x3x8xf64>) {
  %0:5 = sinter.linear_attention_grad %q, %q, %v, %d, %d, %v {scale = 0.5}
    : (tensor<2x3x4x4xf64>, tensor<2x3x4x4xf64>, tensor<2x3x8x8xf64>, tensor<2x3x8xf64>, tensor<2x3x8xf64>, tensor<2x3x8x8xf64>)
    -> (tensor<2x3x4x4xf64>, tensor<2x3x4x4xf64>, tensor<2x3x8x8xf64>, tensor<2x3x8xf64>, tensor<2x3x8xf64>)
  return
}
)";

} // namespace sinter::test
