// RUN: sinter-opt %s --sinter-assign-target=target=cuda:sm_90 --sinter-merge-matmuls | FileCheck %s

// Parts of one weight and of one bias, in their order, are the whole again.
// CHECK-LABEL: func.func @whole(
// CHECK-SAME: %{{.*}}: tensor<4x8xf32> {{.*}}, %[[W:.*]]: tensor<8x20xf32> {{.*}}, %[[B:.*]]: tensor<20xf32>
// CHECK-NOT: sinter.concat
// CHECK: sinter.matmul %{{.*}}, %[[W]]
// CHECK: sinter.broadcast %[[B]]
func.func @whole(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x20xf32> {sinter.state = "w"},
    %b: tensor<20xf32> {sinter.state = "b"}) -> (tensor<4x16xf32>, tensor<4x4xf32>)
    attributes {sinter.entry} {
  %w0 = sinter.slice %w {offsets = array<i64: 0, 0>} : (tensor<8x20xf32>) -> tensor<8x16xf32>
  %w1 = sinter.slice %w {offsets = array<i64: 0, 16>} : (tensor<8x20xf32>) -> tensor<8x4xf32>
  %b0 = sinter.slice %b {offsets = array<i64: 0>} : (tensor<20xf32>) -> tensor<16xf32>
  %b1 = sinter.slice %b {offsets = array<i64: 16>} : (tensor<20xf32>) -> tensor<4xf32>
  %y0 = sinter.matmul %x, %w0 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y1 = sinter.matmul %x, %w1 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %s0 = sinter.broadcast %b0 {dims = array<i64: 1>} : (tensor<16xf32>) -> tensor<4x16xf32>
  %s1 = sinter.broadcast %b1 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<4x4xf32>
  %z0 = sinter.add %y0, %s0 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %z1 = sinter.add %y1, %s1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %z0, %z1 : tensor<4x16xf32>, tensor<4x4xf32>
}

// In another order they are not.
// CHECK-LABEL: func.func @turned
// CHECK: sinter.concat
func.func @turned(%x: tensor<4x8xf32> {sinter.input = "x"}, %w: tensor<8x20xf32> {sinter.state = "w"})
    -> (tensor<4x4xf32>, tensor<4x16xf32>) attributes {sinter.entry} {
  %w0 = sinter.slice %w {offsets = array<i64: 0, 16>} : (tensor<8x20xf32>) -> tensor<8x4xf32>
  %w1 = sinter.slice %w {offsets = array<i64: 0, 0>} : (tensor<8x20xf32>) -> tensor<8x16xf32>
  %y0 = sinter.matmul %x, %w0 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %y1 = sinter.matmul %x, %w1 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %y0, %y1 : tensor<4x4xf32>, tensor<4x16xf32>
}
