// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-transpose-weights --sinter-pack-weights --sinter-verify-layout | FileCheck %s

// Integers lie row by row, with their scales and minima; those of four bits two a byte, each row
// padded to whole pieces of 16 bytes. All else stays as it is.
// CHECK-LABEL: func.func @decode
// CHECK: %[[W:.*]] = sinter.transpose %arg1 {{.*}} -> tensor<16x40xi4>
// CHECK: %[[S:.*]] = sinter.transpose %arg2 {{.*}} -> tensor<16x5xf32>
// CHECK: %[[M:.*]] = sinter.transpose %arg3 {{.*}} -> tensor<16x5xf32>
// CHECK: %[[P:.*]] = sinter.pack %[[W]] : (tensor<16x40xi4>) -> tensor<16x40xi4, #sinter.panels<width = 64, interleave = 1, depth = 1>>
// CHECK: sinter.matmul %arg0, %[[P]], %[[S]] minima %[[M]] {transpose_rhs}
// CHECK-NOT: sinter.transpose
// CHECK: sinter.matmul %arg0, %arg4, %arg5 {transpose_rhs}
// CHECK-NOT: sinter.pack
func.func @decode(%x: tensor<1x40xf32>, %w: tensor<40x16xi4> {sinter.parameter = "w"},
    %s: tensor<5x16xf32> {sinter.parameter = "s"}, %m: tensor<5x16xf32> {sinter.parameter = "m"},
    %v: tensor<16x40xi8> {sinter.parameter = "v"}, %t: tensor<16x1xf32> {sinter.parameter = "t"})
    -> (tensor<1x16xf32>, tensor<1x16xf32>) attributes {sinter.entry} {
  %0 = sinter.matmul %x, %w, %s minima %m
     : (tensor<1x40xf32>, tensor<40x16xi4>, tensor<5x16xf32>, tensor<5x16xf32>) -> tensor<1x16xf32>
  %1 = sinter.matmul %x, %v, %t {transpose_rhs} : (tensor<1x40xf32>, tensor<16x40xi8>, tensor<16x1xf32>) -> tensor<1x16xf32>
  return %0, %1 : tensor<1x16xf32>, tensor<1x16xf32>
}

// So do experts', all at once; those of eight bits stay as they are.
// CHECK-LABEL: func.func @experts
// CHECK: %[[P:.*]] = sinter.pack %arg2 : (tensor<3x16x40xi4>) -> tensor<3x16x40xi4, #sinter.panels<width = 64, interleave = 1, depth = 1>>
// CHECK: sinter.grouped_matmul %arg0, %[[P]], %arg1 scales %arg3 {transpose_rhs}
// CHECK-NOT: sinter.pack
func.func @experts(%x: tensor<4x40xf32>, %o: tensor<4xi32>, %w: tensor<3x16x40xi4> {sinter.parameter = "w"},
    %s: tensor<3x16x5xf32> {sinter.parameter = "s"}, %v: tensor<3x16x40xi8> {sinter.parameter = "v"})
    -> (tensor<4x16xf32>, tensor<4x16xf32>) attributes {sinter.entry} {
  %0 = sinter.grouped_matmul %x, %w, %o scales %s {transpose_rhs}
     : (tensor<4x40xf32>, tensor<3x16x40xi4>, tensor<4xi32>, tensor<3x16x5xf32>) -> tensor<4x16xf32>
  %1 = sinter.grouped_matmul %x, %v, %o scales %s {transpose_rhs}
     : (tensor<4x40xf32>, tensor<3x16x40xi8>, tensor<4xi32>, tensor<3x16x5xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}
