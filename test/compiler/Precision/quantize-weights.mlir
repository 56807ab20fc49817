// RUN: sinter-opt %s --sinter-quantize-weights="weights=int8" | FileCheck %s
// RUN: sinter-opt %s --sinter-quantize-weights="weights=int4 group=16" | FileCheck %s --check-prefix=INT4
// RUN: sinter-opt %s --sinter-quantize-weights="weights=int8 head" | FileCheck %s --check-prefix=HEAD

// RUN: sinter-opt %s --sinter-quantize-weights="weights=int8 group=0 head" | FileCheck %s --check-prefix=CHANNEL

// RUN: sinter-opt %s --sinter-quantize-weights="weights=fp8 group=0 head" | FileCheck %s --check-prefix=FP8
// A cast to fp8 rounds.
// FP8-LABEL: func.func @decode
// FP8: sinter.constant dense<0.00223214296>
// FP8: %[[Q:.*]] = sinter.div
// FP8-NEXT: sinter.cast %[[Q]] : (tensor<64x1x32xf32>) -> tensor<64x1x32xf8E4M3FN>
// FP8: sinter.matmul %{{.*}}, %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<1x64xf32>, tensor<16x64xf8E4M3FN>, tensor<16x1xf32>)

// A scale a channel, where k is any number.
// CHANNEL-LABEL: func.func @decode
// CHANNEL: sinter.matmul %{{.*}}, %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<1x64xf32>, tensor<16x64xi8>, tensor<16x1xf32>)

// CHECK-LABEL: func.func @decode
// CHECK-DAG: %[[G:.*]] = sinter.reshape %arg1 : (tensor<64x32xf32>) -> tensor<64x1x32xf32>
// CHECK: %[[N:.*]] = sinter.neg %[[G]]
// CHECK: %[[M:.*]] = sinter.maximum %[[G]], %[[N]]
// CHECK: %[[L:.*]] = sinter.reduce max %[[M]] : (tensor<64x1x32xf32>) -> tensor<64x1xf32>
// CHECK: %[[S:.*]] = sinter.mul %[[L]],
// CHECK: %[[R:.*]] = sinter.round
// CHECK: %[[C:.*]] = sinter.cast %[[R]] : (tensor<64x1x32xf32>) -> tensor<64x1x32xi8>
// CHECK: %[[Q:.*]] = sinter.reshape %[[C]] : (tensor<64x1x32xi8>) -> tensor<64x32xi8>
// CHECK: sinter.matmul %arg0, %[[Q]], %[[S]] {transpose_rhs} : (tensor<1x32xf32>, tensor<64x32xi8>, tensor<64x1xf32>) -> tensor<1x64xf32>

// The head keeps its weights.
// CHECK: sinter.matmul %{{.*}}, %arg2 {transpose_rhs} : (tensor<1x64xf32>, tensor<16x64xf32>)

// INT4-LABEL: func.func @decode
// INT4: sinter.minimum
// INT4: sinter.matmul %arg0, %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<1x32xf32>, tensor<64x32xi4>, tensor<64x2xf32>) -> tensor<1x64xf32>

// HEAD-LABEL: func.func @decode
// HEAD: sinter.matmul %{{.*}}, %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<1x64xf32>, tensor<16x64xi8>, tensor<16x2xf32>)
func.func @decode(%x: tensor<1x32xf32>, %a: tensor<64x32xf32> {sinter.parameter = "a"},
                  %b: tensor<16x64xf32> {sinter.parameter = "b"}) -> tensor<1x16xf32>
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a {transpose_rhs} : (tensor<1x32xf32>, tensor<64x32xf32>) -> tensor<1x64xf32>
  %1 = sinter.matmul %0, %b {transpose_rhs} : (tensor<1x64xf32>, tensor<16x64xf32>) -> tensor<1x16xf32>
  return %1 : tensor<1x16xf32>
}

// A weight of another type, that lies [k, n]: it is turned, since a group is a piece of a row.
// CHECK-LABEL: func.func @turned
// CHECK: %[[W:.*]] = sinter.transpose %{{.*}} {permutation = array<i64: 1, 0>} : (tensor<64x32xf32>) -> tensor<32x64xf32>
// CHECK: sinter.matmul %arg0, %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<1x64xf32>, tensor<32x64xi8>, tensor<32x2xf32>)
func.func @turned(%x: tensor<1x64xf32>, %c: tensor<64x32xbf16> {sinter.parameter = "c"},
                  %d: tensor<16x32xf32> {sinter.parameter = "d"}) -> tensor<1x16xf32>
    attributes {sinter.entry} {
  %w = sinter.cast %c : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %0 = sinter.matmul %x, %w : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  %1 = sinter.matmul %0, %d {transpose_rhs} : (tensor<1x32xf32>, tensor<16x32xf32>) -> tensor<1x16xf32>
  return %1 : tensor<1x16xf32>
}

// A tensor of all experts' matrices is rounded as one of all of their rows.
// CHECK-LABEL: func.func @experts
// CHECK: %[[ROWS:.*]] = sinter.reshape %arg2 : (tensor<2x32x64xf32>) -> tensor<64x64xf32>
// CHECK: sinter.reshape %[[ROWS]] : (tensor<64x64xf32>) -> tensor<64x2x32xf32>
// CHECK: %[[Q:.*]] = sinter.reshape %{{.*}} : (tensor<64x64xi8>) -> tensor<2x32x64xi8>
// CHECK: %[[S:.*]] = sinter.reshape %{{.*}} : (tensor<64x2xf32>) -> tensor<2x32x2xf32>
// CHECK: sinter.grouped_matmul %arg0, %[[Q]], %arg1 scales %[[S]] {transpose_rhs}
// FP8-LABEL: func.func @experts
// FP8: sinter.grouped_matmul %arg0, %arg2, %arg1 {transpose_rhs}
func.func @experts(%x: tensor<4x64xf32>, %o: tensor<3xi32>,
                   %w: tensor<2x32x64xf32> {sinter.parameter = "w"})
    -> tensor<4x32xf32> attributes {sinter.entry} {
  %y = sinter.grouped_matmul %x, %w, %o {transpose_rhs} : (tensor<4x64xf32>, tensor<2x32x64xf32>, tensor<3xi32>) -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}
