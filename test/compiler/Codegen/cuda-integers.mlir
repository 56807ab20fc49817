// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels | FileCheck %s

#rows = #sinter.panels<width = 96, interleave = 1, depth = 1>

// Few rows: the norm in front, the gate behind, scales and minima beside the integers. Groups are of
// whole segments: rows become fixed point, and the ring has a processor to itself.
// CHECK: func.func private @few({{.*}}) -> {{.*}} attributes {sinter.block = 512 : i64, sinter.grid = 6 : i64, {{.*}}sinter.shared = 116000 : i64}
func.func private @few(%x: tensor<2x96xf32>, %g: tensor<96xf32>, %w: tensor<96x96xi4, #rows>, %s: tensor<96x3xf32>,
    %m: tensor<96x3xf32>) -> tensor<2x48xbf16> attributes {sinter.kernel = "gemm"} {
  %n = sinter.rms_norm %x, %g {eps = 1.0e-5} : (tensor<2x96xf32>, tensor<96xf32>) -> tensor<2x96xf32>
  %y = sinter.cast %n : (tensor<2x96xf32>) -> tensor<2x96xbf16>
  %0 = sinter.matmul %y, %w, %s minima %m {transpose_rhs}
     : (tensor<2x96xbf16>, tensor<96x96xi4, #rows>, tensor<96x3xf32>, tensor<96x3xf32>) -> tensor<2x96xf32>
  %gate = sinter.slice %0 {offsets = array<i64: 0, 0>} : (tensor<2x96xf32>) -> tensor<2x48xf32>
  %up = sinter.slice %0 {offsets = array<i64: 0, 48>} : (tensor<2x96xf32>) -> tensor<2x48xf32>
  %1 = sinter.silu %gate : (tensor<2x48xf32>) -> tensor<2x48xf32>
  %2 = sinter.mul %1, %up : (tensor<2x48xf32>, tensor<2x48xf32>) -> tensor<2x48xf32>
  %3 = sinter.cast %2 : (tensor<2x48xf32>) -> tensor<2x48xbf16>
  return %3 : tensor<2x48xbf16>
}

// Other groups are widened. The launch has as many splits as one row has.
// CHECK: func.func private @widened({{.*}}) -> {{.*}} attributes {sinter.block = 128 : i64, sinter.grid = 48 : i64, {{.*}}sinter.shared = 0 : i64}
func.func private @widened(%x: tensor<2x96xbf16>, %w: tensor<96x96xi8>, %s: tensor<96x2xf32>) -> tensor<2x96xf32>
    attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s {transpose_rhs}
     : (tensor<2x96xbf16>, tensor<96x96xi8>, tensor<96x2xf32>) -> tensor<2x96xf32>
  return %0 : tensor<2x96xf32>
}

// Many rows: any chain behind it, which no library has, and scales of 16 bits.
func.func private @many(%x: tensor<64x96xbf16>, %w: tensor<80x96xi8>, %s: tensor<80x1xf16>, %r: tensor<64x80xf32>)
    -> tensor<64x80xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s {transpose_rhs} : (tensor<64x96xbf16>, tensor<80x96xi8>, tensor<80x1xf16>) -> tensor<64x80xf32>
  %1 = sinter.silu %0 : (tensor<64x80xf32>) -> tensor<64x80xf32>
  %2 = sinter.mul %1, %r : (tensor<64x80xf32>, tensor<64x80xf32>) -> tensor<64x80xf32>
  return %2 : tensor<64x80xf32>
}

// Numbers of e4m3 in their place.
func.func private @numbers(%x: tensor<1x256xbf16>, %w: tensor<80x256xf8E4M3FN>, %s: tensor<80x2xbf16>)
    -> tensor<1x80xf32> attributes {sinter.kernel = "gemm"} {
  %0 = sinter.matmul %x, %w, %s {transpose_rhs}
    : (tensor<1x256xbf16>, tensor<80x256xf8E4M3FN>, tensor<80x2xbf16>) -> tensor<1x80xf32>
  return %0 : tensor<1x80xf32>
}

func.func private @packing(%w: tensor<96x77xi4>) -> tensor<96x77xi4, #rows> attributes {sinter.kernel = "pack_integers"} {
  %0 = sinter.pack %w : (tensor<96x77xi4>) -> tensor<96x77xi4, #rows>
  return %0 : tensor<96x77xi4, #rows>
}

// CHECK-LABEL: module @kernels
// CHECK: func.func private @few({{.*}}memref<4608xi8>
// CHECK-SAME: arguments = array<i64: 0, 2, 3, 4, 1, -1, -1, -1, -1, -1, 5, -1, -1, -1, -1, -1, -1>
// CHECK-SAME: function = "gemv_integers", header = "gemv_integers.cuh"
// CHECK-SAME: Element = bf16
// CHECK-SAME: NormWeight = "float"
// CHECK-SAME: ScaleElement = f32, bits = 4 : i64, group = 32 : i64, hasMinima = true
// CHECK-SAME: sharedBytes = 116000 : i64
// CHECK: func.func private @widened(
// CHECK-SAME: function = "gemv_integers", header = "gemv_integers.cuh"
// CHECK-SAME: bits = 8 : i64, group = 48 : i64
// CHECK-SAME: sharedBytes = 0 : i64
// CHECK: func.func private @many(
// CHECK-SAME: arguments = array<i64: 0, 1, 2, -1, 3, -1, -1, -1, 4>
// CHECK-SAME: function = "gemm_integers", header = "gemm_integers.cuh"
// CHECK-SAME: Epilogue = "sinter::Epilogue<sinter::Silu, sinter::Multiply<float, 80>>"
// CHECK-SAME: ScaleElement = f16, bits = 8 : i64, group = 96 : i64, hasMinima = false
// CHECK: func.func private @numbers(
// CHECK-SAME: function = "gemv_integers", header = "gemv_integers.cuh"
// CHECK-SAME: RhsElement = f8E4M3FN
// CHECK-SAME: ScaleElement = bf16, bits = 8 : i64, group = 128 : i64, hasMinima = false
// CHECK: func.func private @packing({{.*}}memref<7392xi8>{{.*}}memref<4608xi8>
// CHECK-SAME: function = "pack_integers", header = "pack_integers.cuh", parameters = {columns = 77 : i64, rows = 96 : i64}
