// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-lower-cuda-kernels | FileCheck %s

!slots = tensor<1xi32>
!scales = tensor<1x1024x2x1xf32>

// Few queries of 16 bits: bytes are widened in registers.
// CHECK: func.func private @decode({{.*}}sinter.grid = 16 : i64, {{.*}}sinter.shared = 17920 : i64
func.func private @decode(%q: tensor<1x1x4x64xbf16>, %k: tensor<1x1024x2x64xi8>, %v: tensor<1x1024x2x64xi8>,
    %start: !slots, %ks: !scales, %vs: !scales) -> tensor<1x1x4x64xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %k, %v, %start, %ks, %vs {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1, 1>}
      : (tensor<1x1x4x64xbf16>, tensor<1x1024x2x64xi8>, tensor<1x1024x2x64xi8>, !slots, !scales, !scales) -> tensor<1x1x4x64xf32>
  return %0 : tensor<1x1x4x64xf32>
}

// So are those of many queries; of f32 ones nothing is rounded.
// CHECK: func.func private @prefill({{.*}}sinter.shared = 46080 : i64
func.func private @prefill(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x1024x2x64xf8E4M3FN>, %v: tensor<1x1024x2x64xf8E4M3FN>,
    %start: !slots, %ks: !scales, %vs: !scales) -> tensor<1x64x4x64xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %k, %v, %start, %ks, %vs {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1, 1>}
      : (tensor<1x64x4x64xbf16>, tensor<1x1024x2x64xf8E4M3FN>, tensor<1x1024x2x64xf8E4M3FN>, !slots, !scales, !scales) -> tensor<1x64x4x64xf32>
  return %0 : tensor<1x64x4x64xf32>
}

// CHECK: func.func private @plain_decode({{.*}}sinter.shared = 8960 : i64
func.func private @plain_decode(%q: tensor<1x1x4x64xf32>, %k: tensor<1x1024x2x64xi8>, %v: tensor<1x1024x2x64xi8>,
    %start: !slots, %ks: !scales, %vs: !scales) -> tensor<1x1x4x64xf32> attributes {sinter.kernel = "attention"} {
  %0 = sinter.attention %q, %k, %v, %start, %ks, %vs {scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1, 1>}
      : (tensor<1x1x4x64xf32>, tensor<1x1024x2x64xi8>, tensor<1x1024x2x64xi8>, !slots, !scales, !scales) -> tensor<1x1x4x64xf32>
  return %0 : tensor<1x1x4x64xf32>
}

// CHECK-LABEL: module @kernels
// CHECK: func.func private @decode(
// CHECK-SAME: arguments = array<i64: 0, 1, 2, 3, -1, -1, 4, 5, 6, 7>, {{.*}}function = "attention_decode"
// CHECK-SAME: Element = i8, Query = bf16
// CHECK-SAME: hasScales = true
// CHECK: func.func private @prefill(
// CHECK-SAME: arguments = array<i64: 0, 1, 2, 3, -1, -1, 4, 5, -1, 6, -1>, {{.*}}function = "attention_forward"
// CHECK-SAME: Element = f8E4M3FN
// CHECK-SAME: hasScales = true
