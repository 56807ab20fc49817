// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-merge-matmuls | FileCheck %s

// Transposed weights are put under each other.
// CHECK-LABEL: func.func @parameters
// CHECK: %[[W:.*]] = sinter.concat %{{.*}}, %{{.*}} {dim = 0 : i64} : (tensor<16x8xf32>, tensor<4x8xf32>) -> tensor<20x8xf32>
// CHECK: sinter.matmul %{{.*}}, %[[W]] {transpose_rhs} : (tensor<4x8xf32>, tensor<20x8xf32>) -> tensor<4x20xf32>
func.func @parameters(%x: tensor<4x8xf32> {sinter.input = "x"}, %a: tensor<16x8xf32> {sinter.parameter = "a"},
    %b: tensor<4x8xf32> {sinter.parameter = "b"}) -> (tensor<4x16xf32>, tensor<4x4xf32>)
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %1 = sinter.matmul %x, %b {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x4xf32>
}

// States would have to be copied in every step.
// CHECK-LABEL: func.func @states
// CHECK-NOT: sinter.concat
// CHECK-COUNT-2: sinter.matmul
func.func @states(%x: tensor<4x8xf32> {sinter.input = "x"}, %a: tensor<16x8xf32> {sinter.state = "a"},
    %b: tensor<4x8xf32> {sinter.state = "b"}) -> (tensor<4x16xf32>, tensor<4x4xf32>)
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a {transpose_rhs} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %1 = sinter.matmul %x, %b {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x4xf32>
}

// Queries that are rounded before they take their shape are only rearranged, as keys are.
// CHECK-LABEL: func.func @rounded
// CHECK: sinter.matmul %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<4x8xbf16>, tensor<20x8xbf16>) -> tensor<4x20xf32>
// CHECK-NOT: sinter.matmul
func.func @rounded(%x: tensor<4x8xbf16> {sinter.input = "x"}, %a: tensor<16x8xbf16> {sinter.parameter = "a"},
    %b: tensor<4x8xbf16> {sinter.parameter = "b"}) -> (tensor<4x2x8xbf16>, tensor<4x1x4xf32>)
    attributes {sinter.entry} {
  %0 = sinter.matmul %x, %a {transpose_rhs} : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x16xf32>
  %1 = sinter.cast %0 : (tensor<4x16xf32>) -> tensor<4x16xbf16>
  %2 = sinter.reshape %1 : (tensor<4x16xbf16>) -> tensor<4x2x8xbf16>
  %3 = sinter.matmul %x, %b {transpose_rhs} : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x4xf32>
  %4 = sinter.reshape %3 : (tensor<4x4xf32>) -> tensor<4x1x4xf32>
  return %2, %4 : tensor<4x2x8xbf16>, tensor<4x1x4xf32>
}
