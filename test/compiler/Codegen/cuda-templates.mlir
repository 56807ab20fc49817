// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels | FileCheck %s

// Rows of queries are parts of longer ones; the result is rounded as it is written.
// CHECK: func.func private @forward({{.*}}) -> {{.*}} attributes {sinter.block = 128 : i64, sinter.grid = 8 : i64, {{.*}}sinter.shared = 46080 : i64}
func.func private @forward(%qkv: tensor<2x100x1152xbf16>) -> tensor<2x100x2x64xbf16>
    attributes {sinter.kernel = "attention"} {
  %q0 = sinter.slice %qkv {offsets = array<i64: 0, 0, 128>} : (tensor<2x100x1152xbf16>) -> tensor<2x100x128xbf16>
  %q = sinter.reshape %q0 : (tensor<2x100x128xbf16>) -> tensor<2x100x2x64xbf16>
  %0 = sinter.attention %q, %q, %q {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<2x100x2x64xbf16>, tensor<2x100x2x64xbf16>, tensor<2x100x2x64xbf16>) -> tensor<2x100x2x64xf32>
  %1 = sinter.cast %0 : (tensor<2x100x2x64xf32>) -> tensor<2x100x2x64xbf16>
  return %1 : tensor<2x100x2x64xbf16>
}

// Wide heads have blocks of fewer queries and keys, which fit beside each other: 3 blocks of 32 rows a head.
// CHECK: func.func private @wide({{.*}} attributes {sinter.block = 128 : i64, sinter.grid = 12 : i64, {{.*}}sinter.shared = 134656 : i64}
func.func private @wide(%q: tensor<2x70x2x512xbf16>) -> tensor<2x70x2x512xbf16> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %q, %q {scale = 1.0, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
      : (tensor<2x70x2x512xbf16>, tensor<2x70x2x512xbf16>, tensor<2x70x2x512xbf16>) -> tensor<2x70x2x512xbf16>
  return %0 : tensor<2x70x2x512xbf16>
}

// So have their gradients, of eight threads to a row.
// CHECK: func.func private @wide_grad({{.*}} attributes {sinter.block = 256 : i64, sinter.grid = 12 : i64, {{.*}}sinter.shared = 203776 : i64}
func.func private @wide_grad(%q: tensor<2x70x2x512xbf16>, %l: tensor<2x70x2xf32>) -> tensor<2x70x2x512xbf16> attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<2x70x2x512xbf16>, tensor<2x70x2x512xbf16>, tensor<2x70x2x512xbf16>, tensor<2x70x2x512xbf16>, tensor<2x70x2xf32>, tensor<2x70x2xf32>)
      -> (tensor<2x70x2x512xbf16>, tensor<2x70x2x512xbf16>, tensor<2x70x2x512xbf16>)
  return %0#0 : tensor<2x70x2x512xbf16>
}

// Few queries of a cache: keys in parts, combined in memory of the kernel's own.
// CHECK: func.func private @decode({{.*}}sinter.scratch = [[SCRATCH:[0-9]+]] : i64
func.func private @decode(%q: tensor<1x1x4x64xbf16>, %cache: tensor<1x1024x2x64xbf16>, %start: tensor<1xi32>)
    -> tensor<1x1x4x64xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %cache, %cache, %start {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>}
      : (tensor<1x1x4x64xbf16>, tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16>, tensor<1xi32>) -> tensor<1x1x4x64xf32>
  return %0 : tensor<1x1x4x64xf32>
}

func.func private @keys(%q: tensor<1x8x2x16xf32>, %l: tensor<1x8x2xf32>)
    -> (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>) attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2xf32>, tensor<1x8x2xf32>)
      -> (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
  return %0#1, %0#2 : tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>
}

func.func private @queries(%q: tensor<1x8x2x16xf32>, %l: tensor<1x8x2xf32>) -> tensor<1x8x2x16xf32>
    attributes {sinter.kernel = "attention_grad"} {
  %0:3 = sinter.attention_grad %q, %q, %q, %q, %l, %l {scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2xf32>, tensor<1x8x2xf32>)
      -> (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
  return %0#0 : tensor<1x8x2x16xf32>
}

// Few rows at the rate of memory, many in tiles.
func.func private @few(%x: tensor<2x64xbf16>, %w: tensor<96x64xbf16>, %r: tensor<2x96xf32>) -> tensor<2x96xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w {transpose_rhs} : (tensor<2x64xbf16>, tensor<96x64xbf16>) -> tensor<2x96xf32>
  %1 = sinter.silu %0 : (tensor<2x96xf32>) -> tensor<2x96xf32>
  %2 = sinter.mul %1, %r : (tensor<2x96xf32>, tensor<2x96xf32>) -> tensor<2x96xf32>
  return %2 : tensor<2x96xf32>
}
// Values and keys, turned in part, whose results come in another order than their columns.
func.func private @heads(%x: tensor<2x1x64xf32>, %w: tensor<64x32xf32>, %cos: tensor<20x2xf32>, %sin: tensor<20x2xf32>,
    %start: tensor<2xi32>, %count: tensor<2xi32>, %keys: tensor<2x9x2x8xbf16>) -> (tensor<2x9x2x8xbf16>, tensor<2x1x2x8xf16>)
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w : (tensor<2x1x64xf32>, tensor<64x32xf32>) -> tensor<2x1x32xf32>
  %1 = sinter.slice %0 {offsets = array<i64: 0, 0, 0>} : (tensor<2x1x32xf32>) -> tensor<2x1x16xf32>
  %2 = sinter.cast %1 : (tensor<2x1x16xf32>) -> tensor<2x1x16xf16>
  %3 = sinter.reshape %2 : (tensor<2x1x16xf16>) -> tensor<2x1x2x8xf16>
  %4 = sinter.slice %0 {offsets = array<i64: 0, 0, 16>} : (tensor<2x1x32xf32>) -> tensor<2x1x16xf32>
  %5 = sinter.reshape %4 : (tensor<2x1x16xf32>) -> tensor<2x1x2x8xf32>
  %6 = sinter.rotary %5, %cos, %sin, %start {interleaved} : (tensor<2x1x2x8xf32>, tensor<20x2xf32>, tensor<20x2xf32>, tensor<2xi32>) -> tensor<2x1x2x8xf32>
  %7 = sinter.cache_append %keys, %6, %start, %count : (tensor<2x9x2x8xbf16>, tensor<2x1x2x8xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x9x2x8xbf16>
  return %7, %3 : tensor<2x9x2x8xbf16>, tensor<2x1x2x8xf16>
}
// The norm of the rows, rounded, times weights whose second half multiplies the first.
// CHECK: func.func private @normed({{.*}}) -> {{.*}} attributes {sinter.block = 512 : i64, sinter.grid = 6 : i64, {{.*}}sinter.shared = 116000 : i64}
func.func private @normed(%x: tensor<2x1x64xf32>, %g: tensor<64xf32>, %w: tensor<192x64xbf16>, %c: tensor<192xf32>)
    -> tensor<2x96xbf16> attributes {sinter.kernel = "gemm"} {
  %n = sinter.layer_norm %x, %g {eps = 1.0e-5} : (tensor<2x1x64xf32>, tensor<64xf32>) -> tensor<2x1x64xf32>
  %r = sinter.reshape %n : (tensor<2x1x64xf32>) -> tensor<2x64xf32>
  %y = sinter.cast %r : (tensor<2x64xf32>) -> tensor<2x64xbf16>
  %0 = sinter.matmul %y, %w {transpose_rhs} : (tensor<2x64xbf16>, tensor<192x64xbf16>) -> tensor<2x192xf32>
  %1 = sinter.broadcast %c {dims = array<i64: 1>} : (tensor<192xf32>) -> tensor<2x192xf32>
  %2 = sinter.add %0, %1 : (tensor<2x192xf32>, tensor<2x192xf32>) -> tensor<2x192xf32>
  %gate = sinter.slice %2 {offsets = array<i64: 0, 0>} : (tensor<2x192xf32>) -> tensor<2x96xf32>
  %up = sinter.slice %2 {offsets = array<i64: 0, 96>} : (tensor<2x192xf32>) -> tensor<2x96xf32>
  %3 = sinter.gelu %gate : (tensor<2x96xf32>) -> tensor<2x96xf32>
  %4 = sinter.mul %up, %3 : (tensor<2x96xf32>, tensor<2x96xf32>) -> tensor<2x96xf32>
  %5 = sinter.cast %4 : (tensor<2x96xf32>) -> tensor<2x96xbf16>
  return %5 : tensor<2x96xbf16>
}
func.func private @many(%x: tensor<64x100xf32>, %w: tensor<64x96xf32>, %b: tensor<96xf32>) -> tensor<100x96xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w {transpose_lhs} : (tensor<64x100xf32>, tensor<64x96xf32>) -> tensor<100x96xf32>
  %1 = sinter.broadcast %b {dims = array<i64: 1>} : (tensor<96xf32>) -> tensor<100x96xf32>
  %2 = sinter.add %0, %1 : (tensor<100x96xf32>, tensor<100x96xf32>) -> tensor<100x96xf32>
  return %2 : tensor<100x96xf32>
}

func.func private @scatter(%ids: tensor<2x5xi32>, %g: tensor<2x5x200xf32>, %into: tensor<70x200xf32>) -> tensor<70x200xf32>
    attributes {sinter.kernel = "scatter"} {
  %0 = sinter.embedding_grad %ids, %g, %into {rows = 70 : i64, padding = 3 : i64}
      : (tensor<2x5xi32>, tensor<2x5x200xf32>, tensor<70x200xf32>) -> tensor<70x200xf32>
  return %0 : tensor<70x200xf32>
}

func.func private @scatter_part(%ids: tensor<10xi32>, %g: tensor<10x200xf32>, %start: tensor<1xi32>) -> tensor<70x200xf32>
    attributes {sinter.kernel = "scatter"} {
  %0 = sinter.embedding_grad %ids, %g from %start {rows = 70 : i64}
      : (tensor<10xi32>, tensor<10x200xf32>, tensor<1xi32>) -> tensor<70x200xf32>
  return %0 : tensor<70x200xf32>
}

func.func private @sample(%l: tensor<3x500xf32>, %f: tensor<3xf32>, %i: tensor<3xi32>, %s: tensor<3x2xi32>) -> tensor<3xi32>
    attributes {sinter.kernel = "sampling"} {
  %0 = sinter.sample %l, %f, %i, %f, %f, %s, %i, %i
      : (tensor<3x500xf32>, tensor<3xf32>, tensor<3xi32>, tensor<3xf32>, tensor<3xf32>, tensor<3x2xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}

// CHECK-LABEL: module @kernels
// CHECK: func.func private @forward(
// CHECK-SAME: arguments = array<i64: 0, 0, 0, -1, -1, -1, -1, -1, -1, 1, -1>
// CHECK-SAME: function = "attention_forward", header = "attention_forward.cuh"
// CHECK-SAME: Element = bf16, Query = bf16, Result = bf16
// CHECK-SAME: queryBatchStride = 115200 : i64, queryHeadStride = 64 : i64, queryOffset = 128 : i64, queryRowStride = 1152 : i64
// CHECK: func.func private @decode({{.*}}xi32>)
// CHECK-SAME: arguments = array<i64: 0, 1, 1, 2, -1, -1, -1, -1, 3, 4>
// CHECK-SAME: function = "attention_decode"
// CHECK: func.func private @keys(
// CHECK-SAME: function = "attention_backward_keys", header = "attention_backward.cuh"
// CHECK: func.func private @queries(
// CHECK-SAME: function = "attention_backward_queries"
// CHECK: func.func private @few(
// CHECK-SAME: arguments = array<i64: 0, 1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1, -1, -1, -1>, {{.*}}function = "gemv"
// CHECK-SAME: Epilogue = "sinter::Epilogue<sinter::Silu, sinter::Multiply<float, 96>>"
// CHECK-SAME: NormWeight = "void"
// CHECK: func.func private @heads(
// CHECK-SAME: arguments = array<i64: 0, 1, -1, -1, -1, -1, -1, -1, 8, 2, 3, 4, 5, 7, -1>, {{.*}}function = "gemv"
// CHECK-SAME: Heads = "sinter::Heads<8, 4, true, 1, 20, sinter::HeadPart<__half, 2, false, 0>, sinter::HeadPart<__nv_bfloat16, 2, true, 9>>"
// CHECK: func.func private @normed(
// CHECK-SAME: arguments = array<i64: 0, 2, 1, -1, 3, -1, -1, -1, 4, -1, -1, -1, -1, -1, -1>, {{.*}}function = "gemv"
// CHECK-SAME: Element = bf16, Epilogue = "sinter::GatedEpilogue<sinter::Epilogue<sinter::Bias<float>>, sinter::Epilogue<sinter::Gelu>, sinter::Epilogue<>>"
// CHECK-SAME: Input = f32, NormBias = "void", NormWeight = "float"
// CHECK-SAME: normCenters = true, normEps = 1.000000e-05 : f64
// CHECK: func.func private @many(
// CHECK-SAME: function = "gemm"
// CHECK-SAME: Epilogue = "sinter::Epilogue<sinter::Bias<float>>"
// CHECK-SAME: lhsTransposed = true
// CHECK: func.func private @scatter(
// CHECK-SAME: arguments = array<i64: 0, 1, 2, -1, 3>, {{.*}}function = "embedding_grad"
// CHECK-SAME: hasInto = true, hasPadding = true, hasStart = false, padding = 3 : i64
// CHECK: func.func private @scatter_part(
// CHECK-SAME: arguments = array<i64: 0, 1, -1, 2, 3>, {{.*}}function = "embedding_grad"
// CHECK-SAME: hasInto = false, hasPadding = false, hasStart = true
// CHECK: func.func private @sample({{.*}}xi32>)
// CHECK-SAME: arguments = array<i64: 0, 1, 2, 1, 1, 3, 2, 2, 4, 5>, {{.*}}function = "sample"
// CHECK-SAME: batch = 3 : i64, vocabulary = 500 : i64
